import { Module } from '@nestjs/common';
import { TranscriptModule } from '../transcript/transcript.module.js';
import { HistoryRetention } from './history-retention.service.js';

/** How long what has happened is kept. */
@Module({ imports: [TranscriptModule], providers: [HistoryRetention] })
export class RetentionModule {}
