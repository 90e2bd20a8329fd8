import { Module } from '@nestjs/common';
import { AccessModule } from '../access/access.module.js';
import { AgentModule } from '../agents/agent.module.js';
import { InboxModule } from '../inbox/inbox.module.js';
import { DashboardController } from './dashboard.controller.js';
import { Overview } from './overview.service.js';
import { Timeline } from './timeline.service.js';

/** Read models only: nothing here changes anything. */
@Module({ imports: [AccessModule, AgentModule, InboxModule], controllers: [DashboardController], providers: [Overview, Timeline] })
export class DashboardModule {}
