import { JwtService } from '@nestjs/jwt';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AGENT_ROLES, CAPABILITIES, capabilitiesOf } from '../../../src/access/domain/capabilities.js';
import { RunKeys } from '../../../src/access/run-keys.js';
import { RunTokens } from '../../../src/access/run-tokens.service.js';
import { Clock } from '../../../src/platform/clock/clock.js';
import { OfficeSettings, readSettings } from '../../../src/platform/config/office-settings.js';
import { FakeClock } from '../../support/fake-clock.js';
import { RuntimeDesk, Worker } from '../../support/runtime-desk.js';

let desk: RuntimeDesk;
// So long a run that its tokens outlive the four hours.
beforeAll(async () => void (desk = await RuntimeDesk.open({ OFFICE_RUN_TIMEOUT_SEC: '86400' })));
afterAll(() => desk.close());

const claimsOf = (token: string): Record<string, unknown> => new JwtService().decode<Record<string, unknown>>(token);

describe('a runtime token', () => {
  it('says whose run it is, for whom, and what it may do', async () => {
    const ada = await desk.worker();
    const { header } = new JwtService().decode<{ header: Record<string, unknown> }>(ada.token, { complete: true });
    expect(header).toEqual({ alg: 'HS256', typ: 'JWT', kid: expect.stringMatching(/^[0-9a-f]{16}$/) });
    expect(claimsOf(ada.token)).toEqual({
      iss: 'agent-office',
      aud: 'agent-office/runtime',
      iat: expect.any(Number),
      exp: expect.any(Number),
      run: ada.run.runId,
      generation: 1,
      agent: ada.run.agentId,
      task: ada.run.taskId,
      workspace: desk.workspaceId,
      session: ada.run.sessionId,
      role: 'worker',
      capabilities: capabilitiesOf('worker'),
      allowed_task_ids: [ada.run.taskId],
    });
  });

  it('lives four hours, or the timeout of a run and a quarter of an hour, whichever is longer', async () => {
    const clock = new FakeClock();
    const ada = await desk.worker();
    for (const [timeout, lives] of [
      [10_800, 4 * 3_600],
      [60, 4 * 3_600],
      [86_400, 86_400 + 900],
    ] as const) {
      const settings = readSettings({ OFFICE_RUN_TIMEOUT_SEC: String(timeout) });
      const tokens = new RunTokens(new RunKeys(settings), clock, settings);
      const token = tokens.mint(ada.run);
      const { iat, exp } = claimsOf(token) as { iat: number; exp: number };
      expect(exp - iat).toBe(lives);
      // A run at its timeout calls successfully still, and no token is good for longer than it says.
      clock.advance(timeout * 1_000);
      expect(tokens.read(token)).not.toBeNull();
      clock.advance((lives - timeout) * 1_000);
      expect(tokens.read(token)).toBeNull();
    }
  });

  it('opens every door to a run at its timeout still, and none after its own time', async () => {
    const app = desk.office.app.app;
    const settings = app.get(OfficeSettings);
    const ada = await desk.worker();
    const mintedAgo = (seconds: number): Worker => {
      const clock = new FakeClock(new Date(app.get(Clock).now().getTime() - seconds * 1_000));
      return new Worker(desk.office, ada.run, new RunTokens(app.get(RunKeys, { strict: false }), clock, settings).mint(ada.run));
    };
    const atItsTimeout = mintedAgo(settings.OFFICE_RUN_TIMEOUT_SEC + 14 * 60);
    expect(await atItsTimeout.ask('POST /comments', { body: 'In the last second.' })).toMatchObject({ status: 201 });
    const tooOld = mintedAgo(settings.OFFICE_RUN_TIMEOUT_SEC + 15 * 60 + 1);
    expect(await tooOld.ask('POST /comments', { body: 'Too late.' })).toMatchObject({ status: 401 });
  });

  it('is read by every server with the same key, and by no other', async () => {
    const ada = await desk.worker();
    const at = (key?: string): RunTokens => {
      const settings = readSettings(key === undefined ? {} : { OFFICE_AGENT_JWT_KEY: key });
      return new RunTokens(new RunKeys(settings), new FakeClock(), settings);
    };
    const [one, two] = ['k'.repeat(32), 'l'.repeat(32)];
    expect(at(one).read(at(one).mint(ada.run))).toMatchObject({ runId: ada.run.runId });
    expect(at(two).read(at(one).mint(ada.run))).toBeNull();
    expect(at().read(at().mint(ada.run))).toBeNull();
    expect(() => at('short')).toThrow(/OFFICE_AGENT_JWT_KEY must have at least 32 characters/);
  });
});

describe('what a run may do', () => {
  it.each(AGENT_ROLES)('is what a %s and its permissions come to at the claim', async (role) => {
    for (const permissions of [
      {},
      { allow: [...CAPABILITIES] },
      { deny: [...CAPABILITIES] },
      { allow: ['decide'], deny: ['decide'] },
    ] as const) {
      const it = await desk.worker({ role, permissions });
      expect((await it.must<{ capabilities: string[] }>('GET /me')).capabilities).toEqual(capabilitiesOf(role, permissions));
    }
  });

  it('stays what it was when the permissions are revoked, until the run ends, and is not in the next token', async () => {
    const ada = await desk.worker({ permissions: { allow: ['spawn_agent_run'] } });
    const bob = await desk.agent();
    await desk.office.must(`PATCH /agents/${ada.run.agentId}`, { permissions: { deny: ['post_comment'] } });

    await ada.must(`POST /agents/${bob}/runs`, {});
    await ada.must('POST /comments', { body: 'Still here' });
    await desk.office.complete(ada.run);
    await desk.office.must(`POST /tasks/${ada.run.taskId}/comments`, { body: 'And now?' });
    const next = desk.atWork(await desk.office.startPair(desk.workspaceId, ada.run.agentId, ada.run.taskId!));
    expect(await next.ask('POST /comments', { body: 'Not any more' })).toMatchObject({ status: 403, body: { code: 'capability_denied' } });
    expect(await next.ask(`POST /agents/${bob}/runs`, {})).toMatchObject({ status: 403, body: { code: 'capability_denied' } });
  });

  it('is the same again, role and all, when a run is tried again or claimed after a restart', async () => {
    const ceo = await desk.worker({ role: 'ceo' });
    await desk.office.must(`PATCH /agents/${ceo.run.agentId}`, { role: 'worker', permissions: { deny: ['post_comment'] } });
    // As a restart before the launch leaves it: queued again, with what its first claim has frozen.
    await desk.office.rows(
      `update runs set status = 'queued', lease_host_id = null, lease_boot_id = null, lease_expires_at = null, launched_at = null where id = $1`,
      ceo.run.runId,
    );
    await desk.office.rows(`update task_sessions set state = 'IDLE' where id = $1`, ceo.run.sessionId);
    const again = desk.atWork(await desk.office.startPair(desk.workspaceId, ceo.run.agentId, ceo.run.taskId!));
    expect(again.run).toMatchObject({ runId: ceo.run.runId, generation: 2, role: 'ceo', capabilities: capabilitiesOf('ceo') });
    const foreign = await desk.task();
    await again.must('POST /comments', { task_id: foreign, body: 'As the CEO I was' });
    expect((await ceo.ask('GET /me')).status).toBe(401);
  });
});
