import { Body, Controller, Get, Module, Param, Patch, Post, Query } from '@nestjs/common';
import type { OpenAPIObject } from '@nestjs/swagger';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Allow } from '../../../src/access/allow.decorator.js';
import { AccessModule } from '../../../src/access/access.module.js';
import { decodeCursor, encodeCursor } from '../../../src/platform/http/cursor.js';
import {
  Flag,
  FromQuery,
  Instant,
  JsonObject,
  OneOf,
  Optional,
  OrNull,
  Part,
  Parts,
  Shaped,
  SomeOf,
  Text,
  Uuid,
  Uuids,
  Whole,
} from '../../../src/platform/http/fields.decorator.js';
import { PageQuery } from '../../../src/platform/http/page.dto.js';
import { newId } from '../../../src/platform/ids.js';
import { openApiFaults } from '../../support/open-api-rules.js';
import { openOfficeApp } from '../../support/office-app.js';
import type { OfficeApp } from '../../support/office-app.js';

class SeatBody {
  @Text({ max: 10 }) role!: string;
  @Optional() @Uuid() agent_id?: string;
}
class EverythingBody {
  @Text({ max: 5 }) text!: string;
  @Optional() @OrNull() @Text({ max: 5 }) note?: string | null;
  @Optional() @Uuid() id?: string;
  @Optional() @Whole({ min: 1, max: 9 }) count?: number;
  @Optional() @Flag() flag?: boolean;
  @Optional() @OneOf(['a', 'b']) word?: 'a' | 'b';
  @Optional() @Instant() at?: string;
  @Optional() @Shaped(/^[a-z]+$/, 'small letters') slug?: string;
  @Optional() @Uuids({ max: 2 }) ids?: string[];
  @Optional() @SomeOf(['x', 'y']) words?: ('x' | 'y')[];
  @Optional() @JsonObject({ maxBytes: 60 }) config?: Record<string, unknown>;
  @Optional() @Part(() => SeatBody) seat?: SeatBody;
  @Optional() @Parts(() => SeatBody, { max: 2 }) seats?: SeatBody[];
}
class AllOptionalBody {
  @Optional() @Text({ max: 5 }) text?: string;
}
class FilterQuery extends PageQuery {
  @Optional() @FromQuery() @Flag() archived?: boolean;
  @Optional() @Text({ max: 10 }) q?: string;
}

@Controller('probe')
class Probe {
  @Post('everything')
  @Allow('public')
  everything(@Body() body: EverythingBody): object {
    return { name: body.constructor.name, body };
  }
  @Patch('optional')
  @Allow('public')
  optional(@Body() body: AllOptionalBody): object {
    return { body };
  }
  @Get('list')
  @Allow('public')
  list(@Query() query: FilterQuery): object {
    return { ...query, after: decodeCursor(query.cursor) };
  }
  @Get('boom')
  @Allow('public')
  boom(): object {
    throw new Error('the secret inside', { cause: new Error('deeper office_0123456789012345678901234567890123456789abc') });
  }
  @Get('path/:name')
  @Allow('public')
  path(@Param('name') name: string): object {
    return { name };
  }
}
@Module({ imports: [AccessModule], controllers: [Probe] })
class ProbeModule {}

describe('requests', () => {
  let office: OfficeApp;
  beforeAll(async () => void (office = await openOfficeApp({ modules: [ProbeModule] })));
  afterAll(() => office.close());
  const send = (body: unknown, headers: Record<string, string> = {}) => office.ask('POST /api/v1/probe/everything', { body, headers });

  describe('a body', () => {
    const whole = {
      text: '🦊🦊🦊🦊🦊',
      note: null,
      id: newId(),
      count: 9,
      flag: false,
      word: 'b',
      at: '2030-02-28T23:59:59.123+02:00',
      slug: 'abc',
      ids: [newId()],
      words: ['y', 'x'],
      config: { hasOwnProperty: 1, deep: [{ toString: null, valueOf: 0 }] },
      seat: { role: 'r' },
      seats: [{ role: 'r', agent_id: newId() }, { role: 'q' }],
    };

    it('comes through as it is, as an instance of its class', async () => {
      const answer = await send(whole);
      expect([answer.status, answer.body]).toEqual([201, { name: 'EverythingBody', body: whole }]);
    });

    it.each([
      ['no body at all', '', 'text'],
      ['null', 'null', 'text'],
      ['a list', '[]', ''],
      ['a list of bodies', '[{"text":"a"}]', ''],
      ['a string', '"x"', ''],
      ['a number', '5', ''],
      ['a missing field', {}, 'text'],
      ['a number for a text', { text: 5 }, 'text'],
      ['an empty text', { text: '' }, 'text'],
      ['a text that is too long', { text: 'abcdef' }, 'text'],
      ['a text of too many foxes', { text: '🦊🦊🦊🦊🦊🦊' }, 'text'],
      ['U+0000', { text: 'a\u0000' }, 'text'],
      ['a lone surrogate', { text: '\ud800' }, 'text'],
      ['an unknown field', { text: 'a', extra: 1 }, 'extra'],
      ['null where none is said', { text: 'a', id: null }, 'id'],
      ['a malformed uuid', { text: 'a', id: 'x' }, 'id'],
      ['a digit string for a number', { text: 'a', count: '5' }, 'count'],
      ['a number out of range', { text: 'a', count: 10 }, 'count'],
      ['a fraction', { text: 'a', count: 1.5 }, 'count'],
      ['a string for a flag', { text: 'a', flag: 'true' }, 'flag'],
      ['a number for a flag', { text: 'a', flag: 0 }, 'flag'],
      ['a word of no list', { text: 'a', word: 'c' }, 'word'],
      ['a list for a word', { text: 'a', word: ['a'] }, 'word'],
      ['a name of Object for a word', { text: 'a', word: 'constructor' }, 'word'],
      ['a day that is none', { text: 'a', at: '2030-02-30T00:00:00Z' }, 'at'],
      ['a date without a time', { text: 'a', at: '2030-02-28' }, 'at'],
      ['a wrong shape', { text: 'a', slug: 'A' }, 'slug'],
      ['too many ids', { text: 'a', ids: [newId(), newId(), newId()] }, 'ids'],
      ['an id twice', { text: 'a', ids: ['018f0000-0000-7000-8000-000000000000', '018f0000-0000-7000-8000-000000000000'] }, 'ids'],
      ['an id that is none', { text: 'a', ids: ['x'] }, 'ids'],
      ['an object for a list', { text: 'a', ids: { 0: 'x', length: 1 } }, 'ids'],
      ['a list for an object', { text: 'a', config: [] }, 'config'],
      ['an object that is too large', { text: 'a', config: { a: 'x'.repeat(60) } }, 'config'],
      ['U+0000 in a key of an object', { text: 'a', config: { 'a\u0000': 1 } }, 'config'],
      ['a lone surrogate deep in an object', { text: 'a', config: { a: [{ b: '\udfff' }] } }, 'config'],
      ['a part that is none', { text: 'a', seat: 'x' }, 'seat'],
      ['a list for a part', { text: 'a', seat: [{ role: 'r' }] }, 'seat'],
      ['null for a part', { text: 'a', seat: null }, 'seat'],
      ['an unknown field in a part', { text: 'a', seat: { role: 'r', extra: 1 } }, 'seat.extra'],
      ['a wrong field in a part', { text: 'a', seat: { role: 'r', agent_id: 'x' } }, 'seat.agent_id'],
      ['a wrong field in a list of parts', { text: 'a', seats: [{ role: 'r' }, { role: 1 }] }, 'seats.1.role'],
      ['a part in a list that is none', { text: 'a', seats: [null] }, 'seats'],
      ['a list in a list of parts', { text: 'a', seats: [[]] }, 'seats'],
    ])('is refused for %s', async (_, body, path) => {
      const answer = await send(body);
      expect([answer.status, answer.body.code]).toEqual([400, 'validation_failed']);
      const paths = (answer.body.fields as { path: string; problem: string }[]).map((field) => field.path);
      expect(paths).toContain(path);
    });

    it.each(['hasOwnProperty', 'toString', 'valueOf', '__defineGetter__', '__lookupSetter__', 'isPrototypeOf'])(
      'is refused for a field called %s, at the top and inside',
      async (name) => {
        const top = await send(`{"text":"a",${JSON.stringify(name)}:1}`);
        expect([top.status, top.body.fields]).toEqual([400, [{ path: name, problem: 'is not a known field' }]]);
        const inside = await send(`{"text":"a","seat":{"role":"r",${JSON.stringify(name)}:1}}`);
        expect([inside.status, inside.body.code]).toEqual([400, 'validation_failed']);
      },
    );

    it('is described field by field', async () => {
      const document = (await office.ask('GET /api/docs-json')).body as unknown as OpenAPIObject;
      const uuid = { type: 'string', format: 'uuid' };
      expect(document.components?.schemas?.['EverythingBody']).toMatchObject({
        required: ['text'],
        properties: {
          text: { type: 'string', minLength: 1, maxLength: 5 },
          note: { type: 'string', nullable: true },
          id: uuid,
          count: { type: 'integer', minimum: 1, maximum: 9 },
          flag: { type: 'boolean' },
          word: { type: 'string', enum: ['a', 'b'] },
          at: { type: 'string', format: 'date-time' },
          slug: { type: 'string', pattern: '^[a-z]+$' },
          ids: { type: 'array', items: uuid, maxItems: 2 },
          words: { type: 'array', items: { enum: ['x', 'y'] } },
          config: { type: 'object', additionalProperties: true },
          seat: { $ref: '#/components/schemas/SeatBody' },
          seats: { type: 'array', items: { $ref: '#/components/schemas/SeatBody' }, maxItems: 2 },
        },
      });
      expect(openApiFaults(document).filter((fault) => fault.startsWith('the schema'))).toEqual([]);
    });

    it('says every problem with its path, but not without end', async () => {
      const answer = await send({
        text: 5,
        seat: { role: 1, a: 1, b: 2 },
        ...Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`x${n}`, n])),
      });
      expect((answer.body.fields as unknown[]).length).toBe(50);
      const two = await send({ count: 0, id: 'x' });
      expect(two.body).toEqual({
        error: 'The request is not valid.',
        code: 'validation_failed',
        fields: [
          { path: 'text', problem: 'must be a string of 1 to 5 characters without U+0000 or lone surrogates' },
          { path: 'id', problem: 'must be a UUID' },
          { path: 'count', problem: 'must be a whole number from 1 to 9' },
        ],
      });
    });

    it('may leave everything out where everything is optional, and null is still no value', async () => {
      expect((await office.ask('PATCH /api/v1/probe/optional', { body: {} })).status).toBe(200);
      expect((await office.ask('PATCH /api/v1/probe/optional')).status).toBe(200);
      expect((await office.ask('PATCH /api/v1/probe/optional', { body: { text: null } })).status).toBe(400);
    });

    it.each([
      ['no JSON', '{"text":'],
      ['two values', '{} {}'],
      ['a comment', '{} // x'],
      ['single quotes', "{'text':'a'}"],
      ['a __proto__ key', '{"text":"a","__proto__":{"isAdmin":true}}'],
      ['a spelled-out __proto__ key', '{"text":"a","config":{"\\u005f_proto__":{}}}'],
      ['a constructor key', '{"text":"a","constructor":1}'],
      ['a constructor key in free JSON', '{"text":"a","config":{"a":[{"const\\u0072uctor":null}]}}'],
      ['a prototype key', '{"text":"a","seat":{"role":"r","prototype":{}}}'],
      ['a hundred thousand brackets', '['.repeat(100_000)],
      ['deep nesting', `{"text":"a","config":${'{"a":'.repeat(101)}1${'}'.repeat(101)}}`],
    ])('is refused as invalid_json for %s', async (_, body) => {
      const answer = await send(body);
      expect([answer.status, answer.body.code]).toEqual([400, 'invalid_json']);
      expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined();
    });

    it('takes brackets inside strings for text', async () => {
      const answer = await send({ text: 'a', slug: '['.repeat(500) });
      expect(answer.body.code).toBe('validation_failed');
    });

    it('of 1 MiB is read, of one byte more is not', async () => {
      const frame = JSON.stringify({ text: 'a', slug: '' }).length;
      const fits = await send(JSON.stringify({ text: 'a', slug: 'b'.repeat(1024 * 1024 - frame) }));
      expect(fits.status).toBe(201);
      const over = await send(JSON.stringify({ text: 'a', slug: 'b'.repeat(1024 * 1024 - frame + 1) }));
      expect([over.status, over.body.code]).toEqual([413, 'body_too_large']);
    });

    it.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'application/jsonp', 'text/json'])(
      'as %s is refused',
      async (type) => {
        const answer = await send('{"text":"a"}', { 'content-type': type });
        expect([answer.status, answer.body.code]).toEqual([415, 'unsupported_media_type']);
      },
    );

    it('that is any JSON at all never makes the office stumble', async () => {
      await fc.assert(
        fc.asyncProperty(fc.json({ maxDepth: 6 }), async (json) => {
          expect([400, 201]).toContain((await send(json)).status);
        }),
        { numRuns: 300 },
      );
    });

    it('whose fields hold any value never makes the office stumble', async () => {
      const fields = [
        'text',
        'note',
        'id',
        'count',
        'flag',
        'word',
        'at',
        'slug',
        'ids',
        'words',
        'config',
        'seat',
        'seats',
        'constructor',
        'extra',
      ];
      await fc.assert(
        fc.asyncProperty(fc.dictionary(fc.constantFrom(...fields), fc.jsonValue({ maxDepth: 3 })), async (body) => {
          expect([400, 201]).toContain((await send(body)).status);
        }),
        { numRuns: 300 },
      );
    });
  });

  describe('a query', () => {
    const list = (query: string) => office.ask(`GET /api/v1/probe/list${query}`);

    it('has its defaults, and is read as what it says', async () => {
      expect((await list('')).body).toEqual({ limit: 50, after: null });
      expect((await list('?limit=200&archived=false&q=7')).body).toEqual({ limit: 200, archived: false, q: '7', after: null });
    });

    it.each([
      '?limit=0',
      '?limit=201',
      '?limit=-1',
      '?limit=1e2',
      '?limit=',
      '?limit=5&limit=6',
      '?limit=true',
      '?archived=yes',
      '?archived=1',
      '?q=%00',
      '?q=',
      '?other=1',
      '?__proto__=1',
      '?constructor=1',
      '?prototype=1',
      '?limit[]=5',
    ])('is refused: %s', async (query) => {
      const answer = await list(query);
      expect([answer.status, answer.body.code]).toEqual([400, 'validation_failed']);
    });
  });

  describe('a cursor', () => {
    it('of ours comes back as the key it was made of', async () => {
      const id = newId();
      expect((await office.ask(`GET /api/v1/probe/list?cursor=${encodeCursor(id)}`)).body).toMatchObject({ after: id });
    });

    it.each([
      'x',
      '%00',
      'null',
      'é',
      encodeCursor('x'),
      encodeCursor("' or true --"),
      `${encodeCursor(newId())}=`,
      `${encodeCursor(newId())} `,
      'A'.repeat(400),
    ])('that is not ours is refused: %s', async (cursor) => {
      const answer = await office.ask(`GET /api/v1/probe/list?cursor=${encodeURIComponent(decodeURIComponent(cursor))}`);
      expect(answer.status).toBe(400);
      expect(['invalid_cursor', 'validation_failed']).toContain(answer.body.code);
    });
  });

  describe('an error', () => {
    it('nobody foresaw says nothing of itself, and its request id finds the cause in the log, once, without secrets', async () => {
      const answer = await office.ask('GET /api/v1/probe/boom');
      const { request_id: requestId } = answer.body;
      expect([answer.status, answer.body]).toEqual([
        500,
        { error: 'Something went wrong here; the request id finds it in the log.', code: 'internal_error', request_id: requestId },
      ]);
      expect(answer.headers['x-request-id']).toBe(requestId);
      const lines = office.log.filter((line) => line.includes(String(requestId)) && line.includes('request failed'));
      expect(lines).toHaveLength(1);
      expect(lines[0]).toContain('the secret inside');
      expect(lines[0]).toContain('deeper [redacted]');
    });

    it.each([
      ['GET /api/v1/nothing', 404, 'route_not_found'],
      ['GET /api/v2/me', 404, 'route_not_found'],
      ['GET /me', 404, 'route_not_found'],
      ['GET /', 404, 'route_not_found'],
      ['PUT /api/v1/me', 404, 'route_not_found'],
      ['OPTIONS /api/v1/me', 404, 'route_not_found'],
      ['GET /api/v1/probe/path/%', 400, 'malformed_request'],
      ['GET /api/v1/probe/path/%ff', 400, 'malformed_request'],
      [`GET /api/v1/probe/path/${'x'.repeat(301)}`, 414, 'uri_too_long'],
      ['GET /api/v1/me', 401, 'unauthenticated'],
    ])('%s is told as %i %s', async (route, status, code) => {
      const answer = await office.ask(route);
      expect([answer.status, answer.body?.code]).toEqual([status, code]);
    });

    it('has no body in answer to HEAD', async () => {
      const answer = await office.ask('HEAD /api/v1/me');
      expect([answer.status, answer.text]).toEqual([401, '']);
    });
  });

  it('believes no request id from outside', async () => {
    const answer = await office.ask('GET /api/v1/me', { headers: { 'x-request-id': 'mine', 'request-id': 'mine' } });
    expect(answer.headers['x-request-id']).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
  });

  it('tells browsers neither to guess types nor to keep answers', async () => {
    const answer = await office.ask('GET /api/v1/me');
    expect(answer.headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
    });
  });
});
