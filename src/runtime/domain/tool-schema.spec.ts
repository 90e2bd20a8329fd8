import { describe, expect, it } from 'vitest';
import { toolSchema } from './tool-schema.js';

const DOCUMENT = {
  paths: {
    '/x/{task_id}/{other}': {
      post: {
        operationId: 'x',
        parameters: [
          { in: 'path', name: 'task_id', schema: { type: 'string', format: 'uuid' } },
          { in: 'path', name: 'other', schema: { type: 'string' } },
          { in: 'header', name: 'Idempotency-Key', schema: { type: 'string' } },
        ],
        requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Body' } } } },
      },
    },
    '/y': { get: { operationId: 'y' } },
  },
  components: {
    schemas: {
      Body: {
        type: 'object',
        required: ['title'],
        properties: {
          title: { type: 'string', example: 'Door' },
          kind: { type: 'string', enum: ['a', 'b'], nullable: true },
          part: { description: 'of it', allOf: [{ $ref: '#/components/schemas/Part' }] },
          parts: { type: 'array', items: { $ref: '#/components/schemas/Part' } },
        },
      },
      Part: { type: 'object', properties: { n: { type: 'integer' } } },
    },
  },
};

describe('toolSchema', () => {
  it('has the parts of the path and the fields of the body side by side, written out as JSON Schema', () => {
    expect(toolSchema(DOCUMENT, 'x', ['task_id'])).toEqual({
      type: 'object',
      additionalProperties: false,
      required: ['other', 'title'],
      properties: {
        task_id: { type: 'string', format: 'uuid' },
        other: { type: 'string' },
        title: { type: 'string' },
        kind: { type: ['string', 'null'], enum: ['a', 'b', null] },
        part: { description: 'of it', type: 'object', properties: { n: { type: 'integer' } } },
        parts: { type: 'array', items: { type: 'object', properties: { n: { type: 'integer' } } } },
      },
    });
  });

  it('is empty for a route that takes nothing, and nothing for one that is not there', () => {
    expect(toolSchema(DOCUMENT, 'y', [])).toMatchObject({ properties: {}, required: [] });
    expect(() => toolSchema(DOCUMENT, 'z', [])).toThrow(/no operation z/);
  });
});
