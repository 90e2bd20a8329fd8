import { ApiProperty } from '@nestjs/swagger';

/** One thing that happened in a workspace. */
export class EventView {
  /** Its place among the workspace's events: 1, 2, 3 and so on, in the order in which they were committed. */
  seq!: number;
  /** Its name, such as `office.task.updated`. */
  action!: string;
  @ApiProperty({ type: 'object', additionalProperties: true }) payload!: object;
  timestamp!: string;
}

export class EventsView {
  @ApiProperty({ type: [EventView] }) items!: EventView[];
  /** The newest there is; ask on while the last item's `seq` is smaller. */
  last_seq!: number;
  /** The oldest that is kept. */
  oldest_seq!: number;
}
