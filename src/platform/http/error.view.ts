import { ApiProperty } from '@nestjs/swagger';
import { OFFICE_ERRORS } from '../errors/office-error.js';

export class FieldProblemView {
  @ApiProperty({ description: 'Where: names and positions joined by dots, empty for the whole body.' }) path!: string;
  @ApiProperty({ description: 'What is wrong with it.' }) problem!: string;
}

/** An agent whose token is missing or worth nothing is told no more than that. */
export class TokenRefusalView {
  @ApiProperty({ enum: [OFFICE_ERRORS.missing_runtime_token[1], OFFICE_ERRORS.invalid_runtime_token[1]] }) error!: string;
}

/** Every refusal looks like this; some codes bring further facts. */
export class ErrorView {
  @ApiProperty({ description: 'A sentence for people.' }) error!: string;
  @ApiProperty({ enum: Object.keys(OFFICE_ERRORS), description: 'A word for programs.' }) code!: string;
  @ApiProperty({ type: [FieldProblemView], required: false, description: 'With `validation_failed`: one entry per problem.' })
  fields?: FieldProblemView[];
  @ApiProperty({ required: false, description: 'With `internal_error`: finds the cause in the log.' }) request_id?: string;
}
