import { ApiProperty } from '@nestjs/swagger';

/** A kind of agent, as this host sees it. */
export class AdapterView {
  id!: string;
  /** What is started, without the office's own additions; null when the agent's configuration must name it. */
  command!: string | null;
  installed!: boolean;
  /** What the program says when asked for its version. */
  version?: string;
  /** Why it cannot be used, or what is odd about it, and what to do. */
  problem?: string;
}

export class AdapterListView {
  @ApiProperty({ type: [AdapterView] }) items!: AdapterView[];
  /** Always null: there are only a few. */
  @ApiProperty({ type: String, nullable: true }) next_cursor!: string | null;
}
