import { ApiProperty } from '@nestjs/swagger';

export class SignInMethodView {
  @ApiProperty() id!: string;
  @ApiProperty() name!: string;
  @ApiProperty({ type: String, nullable: true }) description!: string | null;
}

/** What an agent answered to ACP's `initialize`. */
export class AcpAnswerView {
  @ApiProperty({ type: 'integer' }) protocol_version!: number;
  @ApiProperty({ type: String, nullable: true }) agent!: string | null;
  @ApiProperty({ description: 'It can go on with a conversation in a new process.' }) load_session!: boolean;
  @ApiProperty({ description: 'It takes MCP servers over HTTP.' }) mcp_http!: boolean;
  @ApiProperty({ type: [SignInMethodView] }) sign_in_methods!: SignInMethodView[];
}

/** A kind of agent, as this host sees it. */
export class AdapterView {
  @ApiProperty() id!: string;
  @ApiProperty({
    type: String,
    nullable: true,
    description: "What is started; null when the agent's configuration must name it.",
  })
  command!: string | null;
  @ApiProperty() installed!: boolean;
  @ApiProperty({ required: false, description: 'What the program says of itself.' }) version?: string;
  @ApiProperty({ type: String, nullable: true, description: 'The version this office was tested with.' }) tested_version!: string | null;
  @ApiProperty({ type: AcpAnswerView, nullable: true, description: 'Null when it did not answer.' }) acp!: AcpAnswerView | null;
  @ApiProperty({
    type: Boolean,
    nullable: true,
    description: 'Whether an agent without a key of its own could work; null when only its first turn can tell.',
  })
  signed_in!: boolean | null;
  @ApiProperty({ required: false, description: 'Why it cannot be used, or what is odd about it, and what to do.' }) problem?: string;
}

export class AdapterListView {
  @ApiProperty({ type: [AdapterView] }) items!: AdapterView[];
  /** Always null: there are only a few. */
  @ApiProperty({ type: String, nullable: true }) next_cursor!: string | null;
}
