import { Module } from '@nestjs/common';
import { AccessModule } from '../access/access.module.js';
import { Approvals } from './approvals.service.js';
import { Dismissals } from './dismissals.service.js';
import { InboxController } from './inbox.controller.js';
import { InboxReads } from './inbox-reads.service.js';
import { Interruptions } from './interruptions.service.js';
import { MissingCapabilities } from './missing-capabilities.service.js';
import { PermissionRequests } from './permission-requests.service.js';
import { ProviderHolds } from './provider-holds.service.js';

/** What needs a person, and what a person has answered. */
@Module({
  imports: [AccessModule],
  controllers: [InboxController],
  providers: [Approvals, Dismissals, InboxReads, Interruptions, MissingCapabilities, PermissionRequests, ProviderHolds],
  exports: [Approvals, Dismissals, InboxReads, Interruptions, MissingCapabilities, PermissionRequests, ProviderHolds],
})
export class InboxModule {}
