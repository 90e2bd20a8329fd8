import { Body, Controller, HttpCode, Module, Param, Post } from '@nestjs/common';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Allow } from '../../../src/access/allow.decorator.js';
import type { Call } from '../../../src/access/call.js';
import { CurrentCall, WorkspaceId } from '../../../src/access/current-call.decorator.js';
import { IdempotencyCron } from '../../../src/access/idempotency.cron.js';
import { IdempotentCommands } from '../../../src/access/idempotent-commands.service.js';
import { Idempotent } from '../../../src/access/idempotent.decorator.js';
import { AccessModule } from '../../../src/access/access.module.js';
import { OfficeError } from '../../../src/platform/errors/office-error.js';
import { Optional, Text } from '../../../src/platform/http/fields.decorator.js';
import { newId } from '../../../src/platform/ids.js';
import { aPerson, aWorkspace, openFrontDesk } from '../../support/front-desk.js';
import type { SomePerson } from '../../support/front-desk.js';
import type { Ask, OfficeApp } from '../../support/office-app.js';

class NoteBody {
  @Text({ max: 100 }) text!: string;
  @Optional() @Text({ max: 100 }) more?: string;
}

/** What the handler of the notes does besides answering, set by a test. */
let inside: () => Promise<void> = () => Promise.resolve();

@Controller('workspaces/:ws/notes')
class NoteController {
  constructor(private readonly commands: IdempotentCommands) {}

  @Post()
  @HttpCode(202)
  @Allow('member', { workspace: 'ws' })
  @Idempotent()
  write(@CurrentCall() call: Call, @WorkspaceId() workspaceId: string, @Body() body: NoteBody): Promise<object> {
    return this.commands.once(call, workspaceId, async (tx) => {
      await inside();
      const id = newId();
      await tx.query(`insert into notes (id, workspace_id, text) values ($1, $2, $3)`, [id, workspaceId, body.text]);
      return { zeta: id, alpha: { text: body.text, nothing: null }, list: [2, 1] };
    });
  }

  @Post(':name')
  @Allow('member', { workspace: 'ws' })
  @Idempotent()
  named(@CurrentCall() call: Call, @WorkspaceId() workspaceId: string, @Param('name') name: string): Promise<object> {
    return this.commands.once(call, workspaceId, () => Promise.resolve({ name, nonce: newId() }));
  }
}

@Module({ imports: [AccessModule], controllers: [NoteController] })
class NoteModule {}

describe('idempotency', () => {
  let office: OfficeApp;
  let ann: SomePerson;
  let ben: SomePerson;
  let workspace: string;

  beforeAll(async () => {
    office = await openFrontDesk({ modules: [NoteModule] });
    await office.rows(`create table notes (id uuid primary key, workspace_id uuid, text text)`);
    [ann, ben] = [await aPerson(office), await aPerson(office)];
    workspace = await aWorkspace(office, [
      [ann, 'member'],
      [ben, 'member'],
    ]);
  });
  afterAll(() => office.close());
  beforeEach(async () => {
    inside = () => Promise.resolve();
    await office.rows(`truncate notes, idempotency_keys`);
  });

  const post = (key: string | undefined, body: unknown, ask: Ask & { path?: string; on?: OfficeApp } = {}) =>
    (ask.on ?? office).ask(`POST /api/v1/${ask.path ?? `workspaces/${workspace}/notes`}`, {
      token: ann.token,
      body,
      ...ask,
      headers: key === undefined ? {} : { 'idempotency-key': key },
    });
  const notes = async (): Promise<number> => (await office.rows(`select 1 from notes`)).length;

  it('acts every time without a key', async () => {
    await post(undefined, { text: 'a' });
    await post(undefined, { text: 'a' });
    expect(await notes()).toBe(2);
    expect(await office.rows(`select 1 from idempotency_keys`)).toEqual([]);
  });

  it('acts once under a key, and answers the same to the byte, status included', async () => {
    const first = await post('k', { text: 'a', more: 'b' });
    const again = await post('k', { text: 'a', more: 'b' });
    const reordered = await post('k', '{ "more": "b",  "text": "a" }');
    expect(first.status).toBe(202);
    for (const answer of [again, reordered]) expect([answer.status, answer.text]).toEqual([202, first.text]);
    expect(await notes()).toBe(1);
  });

  it('refuses another body under the same key, and stays with the first', async () => {
    const first = await post('k', { text: 'a' });
    const other = await post('k', { text: 'b' });
    expect([other.status, other.body.code]).toEqual([409, 'idempotency_key_reused']);
    expect((await post('k', { text: 'a' })).text).toBe(first.text);
    expect(await notes()).toBe(1);
  });

  it('keeps keys of other people, routes and paths apart', async () => {
    await post('k', { text: 'a' });
    expect((await post('k', { text: 'b' }, { token: ben.token })).status).toBe(202);
    const other = await aWorkspace(office, [[ann, 'member']]);
    expect((await post('k', { text: 'c' }, { path: `workspaces/${other}/notes` })).status).toBe(202);
    const [x, y] = [
      await post('k', {}, { path: `workspaces/${workspace}/notes/x` }),
      await post('k', {}, { path: `workspaces/${workspace}/notes/y` }),
    ];
    expect([x.body.name, y.body.name]).toEqual(['x', 'y']);
    expect((await post('k', {}, { path: `workspaces/${workspace.toUpperCase()}/notes/x` })).body).toEqual(x.body);
  });

  it('acts once for twenty requests at once: the others are told to wait or get the answer', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => post('k', { text: 'a' })));
    const done = answers.filter(({ status }) => status === 202);
    const waiting = answers.filter(({ status }) => status === 409);
    expect(done.length).toBeGreaterThan(0);
    expect(new Set(done.map(({ text }) => text)).size).toBe(1);
    expect(new Set(waiting.map(({ body }) => body.code))).toEqual(waiting.length > 0 ? new Set(['in_progress']) : new Set());
    expect(done.length + waiting.length).toBe(20);
    expect(await notes()).toBe(1);
    expect((await post('k', { text: 'a' })).text).toBe(done[0]!.text);
  });

  it('refuses a request while the first is still being worked on', async () => {
    let finish: () => void = () => undefined;
    let first: ReturnType<typeof post> | undefined;
    await new Promise<void>((started) => {
      inside = () => {
        started();
        return new Promise((done) => void (finish = done));
      };
      first = post('k', { text: 'a' });
    });
    const second = await post('k', { text: 'a' });
    expect([second.status, second.body.code]).toEqual([409, 'in_progress']);
    finish();
    expect((await first)?.status).toBe(202);
  });

  it('remembers nothing of a command that failed', async () => {
    inside = () => Promise.reject(new OfficeError('stale_write'));
    expect((await post('k', { text: 'a' })).status).toBe(409);
    inside = () => Promise.reject(new Error('boom'));
    expect((await post('k', { text: 'a' })).status).toBe(500);
    inside = () => Promise.resolve();
    expect((await post('k', { text: 'changed' })).status).toBe(202);
    expect(await notes()).toBe(1);
  });

  it('asks who one is before it answers again', async () => {
    await post('k', { text: 'a' }, { token: ben.token });
    await office.rows(`delete from workspace_members where user_id = $1`, [ben.id]);
    expect((await post('k', { text: 'a' }, { token: ben.token })).status).toBe(404);
    await office.rows(`insert into workspace_members (workspace_id, user_id, role) values ($1, $2, 'member')`, [workspace, ben.id]);
  });

  it('answers the same after a restart', async () => {
    const first = await post('k', { text: 'a' });
    const other = await openFrontDesk({ modules: [NoteModule], databaseUrl: office.databaseUrl });
    expect((await post('k', { text: 'a' }, { on: other })).text).toBe(first.text);
    await other.close({ keep: true });
    expect(await notes()).toBe(1);
  });

  it('forgets after a day, whether or not the row was pruned', async () => {
    const first = await post('k', { text: 'a' });
    await office.rows(`update idempotency_keys set created_at = now() - interval '23 hours 59 minutes'`);
    expect((await post('k', { text: 'a' })).text).toBe(first.text);
    await office.rows(`update idempotency_keys set created_at = now() - interval '24 hours'`);
    const later = await post('k', { text: 'b' });
    expect(later.status).toBe(202);
    expect((await post('k', { text: 'b' })).text).toBe(later.text);
    expect(await notes()).toBe(2);
  });

  it('prunes what expired in bounded batches and keeps the rest', async () => {
    await office.rows(
      `insert into idempotency_keys (principal, method, route, key, request_hash, answer, created_at)
       select 'user:x', 'POST', '/', n::text, 'x', '1', now() - interval '25 hours' from generate_series(1, 2500) n`,
    );
    await post('k', { text: 'a' });
    expect(await office.app.get(IdempotencyCron).sweep()).toBe(2500);
    expect(await office.rows(`select key from idempotency_keys`)).toEqual([{ key: 'k' }]);
  });

  it.each(['', 'ä', 'a\tb', 'x'.repeat(201)])('refuses the key %j', async (key) => {
    const answer = await post(key, { text: 'a' });
    expect([answer.status, answer.body.code]).toEqual([400, 'validation_failed']);
    expect(await notes()).toBe(0);
  });

  it('takes a key of 200 printable characters', async () => {
    const key = `${'~'.repeat(100)}${'!'.repeat(100)}`;
    await post(key, { text: 'a' });
    await post(key, { text: 'a' });
    expect(await notes()).toBe(1);
  });
});
