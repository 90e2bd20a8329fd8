import { ApiProperty } from '@nestjs/swagger';
import { pageOf } from '../platform/http/page.view.js';

export class RepositoryView {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty({ format: 'uuid' }) workspace_id!: string;
  @ApiProperty({ format: 'uuid', description: 'The host whose disk it is on; tasks that work in it run there.' }) host_id!: string;
  @ApiProperty() name!: string;
  @ApiProperty({ description: 'Its real path.' }) path!: string;
  @ApiProperty({ format: 'date-time' }) created_at!: string;
}

export class RepositoryPage extends pageOf(RepositoryView) {}
