import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '../../../src/platform/ids.js';
import { HostRegistry } from '../../../src/workspaces/host-registry.service.js';
import { openFrontDesk } from '../../support/front-desk.js';
import type { OfficeApp } from '../../support/office-app.js';

describe('hosts', () => {
  const hostId = newId();
  let first: OfficeApp;
  let second: OfficeApp;
  beforeAll(async () => {
    first = await openFrontDesk({ hostId, env: { OFFICE_MAX_EXECUTIONS: '3' } });
    second = await openFrontDesk({ hostId, databaseUrl: first.databaseUrl });
  });
  afterAll(async () => {
    await second.close({ keep: true });
    await first.close();
  });
  const hosts = async () => (await second.ask('GET /api/v1/hosts', { token: second.adminToken })).body.items as Record<string, unknown>[];

  it('register with what they have, beat, drain, and are fenced by their boot', async () => {
    const [old, young] = [first.app.get(HostRegistry), second.app.get(HostRegistry)];
    expect(await old.heartbeat()).toBe(false);
    expect(await old.register(['mock', 'codex'])).toEqual({ previousBootId: null });
    expect(await hosts()).toMatchObject([
      { id: hostId, name: 'test-host', adapters: ['mock', 'codex'], max_executions: 3, draining: false, online: true },
    ]);
    expect(await old.startDraining(60)).toBeInstanceOf(Date);
    expect(await old.register(['mock'])).toEqual({ previousBootId: null });
    expect(await hosts()).toMatchObject([{ adapters: ['mock'], draining: true, drain_until: expect.any(String), running: 0 }]);

    const [{ boot_id: bootId }] = (await first.rows<{ boot_id: string }>(`select boot_id from hosts`)) as [{ boot_id: string }];
    expect(await young.register([])).toEqual({ previousBootId: bootId });
    expect(await hosts()).toMatchObject([{ adapters: [], max_executions: 8, draining: false, drain_until: null }]);
    expect([await old.heartbeat(), await old.startDraining(60)]).toEqual([false, null]);
    expect(await young.heartbeat()).toBe(true);
    expect(await hosts()).toMatchObject([{ draining: false }]);
  });

  it('are offline when a lease has passed since they were seen', async () => {
    await first.rows(`update hosts set last_seen_at = now() - interval '119 seconds'`);
    expect(await hosts()).toMatchObject([{ online: true }]);
    await first.rows(`update hosts set last_seen_at = now() - interval '121 seconds'`);
    expect(await hosts()).toMatchObject([{ online: false }]);
  });
});
