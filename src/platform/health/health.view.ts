import { ApiProperty } from '@nestjs/swagger';

export class LiveView {
  @ApiProperty({ enum: ['ok'] }) status!: 'ok';
}

export class ReadyView {
  @ApiProperty({ enum: ['ok', 'unavailable'] }) status!: 'ok' | 'unavailable';
  @ApiProperty({
    type: 'object',
    additionalProperties: { type: 'string', enum: ['ok', 'failing', 'slow'] },
    description: 'One entry per thing the office cannot work without: database, migrations, scheduler.',
  })
  checks!: Record<string, 'ok' | 'failing' | 'slow'>;
  @ApiProperty({ description: 'It answers as ever, but starts no agents any more.' }) draining!: boolean;
}
