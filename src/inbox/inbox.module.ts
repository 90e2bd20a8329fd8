import { Module } from '@nestjs/common';
import { Dismissals } from './dismissals.service.js';
import { Interruptions } from './interruptions.service.js';

/** What needs a person, and what a person has answered. */
@Module({ providers: [Dismissals, Interruptions], exports: [Dismissals, Interruptions] })
export class InboxModule {}
