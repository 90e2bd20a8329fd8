import { ApiProperty } from '@nestjs/swagger';
import { pageOf } from '../platform/http/page.view.js';

export class ProjectView {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty({ format: 'uuid' }) workspace_id!: string;
  @ApiProperty() name!: string;
  @ApiProperty({ type: String, nullable: true }) description!: string | null;
  @ApiProperty({ format: 'date-time' }) created_at!: string;
  @ApiProperty({ format: 'date-time' }) updated_at!: string;
}

export class ProjectPage extends pageOf(ProjectView) {}
