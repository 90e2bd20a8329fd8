import { chmodSync, lstatSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ClaimedRun } from '../../../src/runs/claim.js';
import type { LaunchKit } from '../../../src/runs/launch-kit.js';
import { AgentPlaces } from '../../../src/scheduler/agent-places.service.js';
import type { AgentUsers } from '../../../src/workspaces/agent-users.service.js';

const USER = { uid: 61_998, gid: 61_998 };

describe.runIf(process.getuid?.() === 0)('the folders of a workspace with a user of its own', () => {
  let root: string;
  let places: AgentPlaces;
  beforeEach(() => {
    root = join(mkdtempSync(join(tmpdir(), 'office-places-')), 'workspace');
    const users = { separate: true, of: async () => ({ identity: USER }), folderOf: () => root };
    places = new AgentPlaces(users as unknown as AgentUsers, { furnish: async () => true } as unknown as LaunchKit);
  });
  afterEach(() => rmSync(join(root, '..'), { recursive: true }));

  const prepare = (task: string, repositoryId: string | null = null) =>
    places.prepare({
      workspaceId: 'workspace',
      agentId: 'agent',
      adapterConfig: {},
      folder: join(root, 'tasks', task),
      acpSessionId: null,
      repositoryId,
    } as unknown as ClaimedRun);
  const standing = (...parts: string[]): string => {
    const { uid, gid, mode } = lstatSync(join(root, ...parts));
    return `${uid}:${gid} ${(mode & 0o777).toString(8)}`;
  };
  const PASSAGE = `0:${USER.gid} 710`;
  const OWN = `${USER.uid}:${USER.gid} 700`;

  it('are root’s to pass through and the user’s to work in', async () => {
    await prepare('a');
    for (const parts of [[], ['tasks'], ['homes']]) expect(standing(...parts)).toBe(PASSAGE);
    for (const parts of [['tasks', 'a'], ['homes', 'agent'], ['tmp']]) expect(standing(...parts)).toBe(OWN);
  });

  it.each([
    ['homes', null],
    ['tasks', null],
    ['', null],
    ['', 'a repository'],
  ])('are as they should be again when "%s" was taken away meanwhile (%s)', async (gone, repository) => {
    await prepare('a');
    rmSync(join(root, gone), { recursive: true });
    await prepare('b', repository);
    for (const parts of [[], ['tasks'], ['homes']]) expect(standing(...parts)).toBe(PASSAGE);
    expect(standing('homes', 'agent')).toBe(OWN);
  });

  it('are shut again when somebody opened them', async () => {
    await prepare('a');
    chmodSync(join(root, 'homes'), 0o777);
    await prepare('b');
    expect(standing('homes')).toBe(PASSAGE);
  });
});
