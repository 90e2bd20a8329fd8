import { ApiProperty } from '@nestjs/swagger';

export class DrainView {
  @ApiProperty({ format: 'uuid', description: 'The host of the server that was asked.' }) host_id!: string;
  @ApiProperty({ enum: [true] }) draining!: true;
  @ApiProperty({ format: 'date-time', description: 'When its turns are cut off.' }) drain_until!: string;
  @ApiProperty({ type: 'integer', description: 'How many runs it still holds.' }) running!: number;
}
