import { Module } from '@nestjs/common';
import { AccessModule } from '../access/access.module.js';
import { TranscriptModule } from '../transcript/transcript.module.js';
import { Connections } from './connections.service.js';
import { EventReads } from './event-reads.service.js';
import { EventRetention } from './event-retention.service.js';
import { EventsController } from './events.controller.js';
import { Feeds } from './feeds.service.js';
import { OfficeGateway } from './office.gateway.js';
import { Patrol } from './patrol.service.js';
import { SocketDesk } from './socket-desk.service.js';

/** The window: people see facts after they are true. The application takes `OfficeSocketAdapter` for its sockets. */
@Module({
  imports: [AccessModule, TranscriptModule],
  controllers: [EventsController],
  providers: [Connections, EventReads, EventRetention, Feeds, OfficeGateway, Patrol, SocketDesk],
  exports: [Connections],
})
export class RealtimeModule {}
