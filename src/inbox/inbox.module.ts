import { Module } from '@nestjs/common';
import { Dismissals } from './dismissals.service.js';
import { Interruptions } from './interruptions.service.js';
import { ProviderHolds } from './provider-holds.service.js';

/** What needs a person, and what a person has answered. */
@Module({ providers: [Dismissals, Interruptions, ProviderHolds], exports: [Dismissals, Interruptions, ProviderHolds] })
export class InboxModule {}
