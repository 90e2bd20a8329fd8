import { ApiProperty } from '@nestjs/swagger';
import { pageOf } from '../platform/http/page.view.js';

/** A skill in a list: without what it says. */
export class ListedSkillView {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty({ format: 'uuid' }) workspace_id!: string;
  @ApiProperty() slug!: string;
  @ApiProperty() name!: string;
  @ApiProperty() description!: string;
  @ApiProperty({ description: 'Of the office itself: read-only.' }) is_system!: boolean;
  @ApiProperty({ format: 'date-time' }) created_at!: string;
  @ApiProperty({ format: 'date-time' }) updated_at!: string;
}

export class SkillView extends ListedSkillView {
  @ApiProperty({ description: 'Markdown.' }) content!: string;
}

export class SkillPage extends pageOf(ListedSkillView) {}
