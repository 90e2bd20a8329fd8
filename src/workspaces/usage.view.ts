import { ApiProperty } from '@nestjs/swagger';

export class CostView {
  @ApiProperty() amount!: number;
  @ApiProperty({ example: 'USD' }) currency!: string;
}

/** What agents say they have used, of the attempts that are kept. What an agent does not tell is not in it. */
export class UsageView {
  @ApiProperty() input_tokens!: number;
  @ApiProperty() output_tokens!: number;
  @ApiProperty() total_tokens!: number;
  @ApiProperty({ description: 'The attempts that told anything.' }) attempts!: number;
  @ApiProperty({ type: [CostView], description: 'By currency.' }) cost!: CostView[];
}
