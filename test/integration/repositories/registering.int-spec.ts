import { mkdir, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newId } from '../../../src/platform/ids.js';
import { aPerson } from '../../support/front-desk.js';
import { aFolder, aRepository, git } from '../../support/git-folder.js';
import type { Answer } from '../../support/office-app.js';
import { WorktreeOffice } from '../../support/worktree-office.js';

let office: WorktreeOffice;
let workspaceId: string;
let outside: { path: string; remove(): Promise<void> };
beforeAll(async () => {
  office = await WorktreeOffice.open();
  outside = await aFolder('outside');
});
afterAll(async () => {
  await office.close();
  await outside.remove();
});
beforeEach(async () => {
  workspaceId = await office.workspace();
});

const register = (path: string, token?: string): Promise<Answer> =>
  office.ask(`POST /workspaces/${workspaceId}/repositories`, { name: 'doors', path }, token);
const aRepositoryBelowTheRoot = (): Promise<string> => aRepository(join(office.root, newId()));

const aPartOf = async (repository: Promise<string>): Promise<string> => {
  const part = join(await repository, 'part');
  await mkdir(part);
  return part;
};

describe('a repository', () => {
  it('is registered by its real path, listed, and removed', async () => {
    const path = await aRepositoryBelowTheRoot();
    const link = join(office.root, newId());
    await symlink(path, link);
    const made = await register(link);
    expect(made).toMatchObject({ status: 201, body: { workspace_id: workspaceId, host_id: office.hostId, name: 'doors', path } });
    expect(await office.must(`GET /workspaces/${workspaceId}/repositories`)).toEqual({ items: [made.body], next_cursor: null });
    expect(await register(path)).toMatchObject({ status: 409, body: { code: 'repository_taken' } });
    await office.must(`DELETE /repositories/${String(made.body.id)}`);
    expect((await office.must(`GET /workspaces/${workspaceId}/repositories`)).items).toEqual([]);
    expect((await office.ask(`DELETE /repositories/${String(made.body.id)}`)).status).toBe(404);
    expect((await register(path)).status).toBe(201);
  });

  it('is registered by admins only, and used by nobody of another workspace', async () => {
    const path = await aRepositoryBelowTheRoot();
    const member = await aPerson(office.app);
    await office.must(`PUT /workspaces/${workspaceId}/members/${member.id}`, { role: 'member' });
    expect((await register(path, member.token)).status).toBe(403);
    const repositoryId = await office.register(workspaceId, path);
    expect((await office.ask(`DELETE /repositories/${repositoryId}`, undefined, member.token)).status).toBe(403);
    expect((await office.ask(`GET /workspaces/${workspaceId}/repositories`, undefined, member.token)).status).toBe(200);
    const other = await office.workspace();
    expect(await office.ask(`POST /workspaces/${other}/tasks`, { title: 'x', repository_id: repositoryId })).toMatchObject({
      status: 404,
      body: { what: 'repository' },
    });
    const task = await office.must(`POST /workspaces/${workspaceId}/tasks`, { title: 'x', repository_id: repositoryId });
    expect(task.repository_id).toBe(repositoryId);
  });

  it.each([
    ['is not there', async () => join(office.root, 'nothing'), 'there is no such folder on this host'],
    [
      'is a file',
      async () => (await writeFile(join(office.root, 'file'), ''), join(office.root, 'file')),
      'there is no such folder on this host',
    ],
    [
      'is no repository',
      async () => (await mkdir(join(office.root, 'plain'), { recursive: true }), join(office.root, 'plain')),
      'git does not take it for',
    ],
    ['is a part of one', () => aPartOf(aRepositoryBelowTheRoot()), 'git does not take it for'],
    ['lies outside of the roots', async () => aRepository(join(outside.path, newId())), 'outside of OFFICE_REPOSITORY_ROOTS'],
    [
      'is only linked to from below a root',
      async () => {
        const link = join(office.root, newId());
        await symlink(await aRepository(join(outside.path, newId())), link);
        return link;
      },
      'outside of OFFICE_REPOSITORY_ROOTS',
    ],
    [
      'has its git folder elsewhere',
      async () => {
        const path = join(office.root, newId());
        await git(office.root, 'init', '-q', '--separate-git-dir', join(outside.path, newId()), path);
        return path;
      },
      'of its git folder',
    ],
    [
      'has a link for a git folder',
      async () => {
        const path = await aRepositoryBelowTheRoot();
        const away = join(outside.path, newId());
        await rename(join(path, '.git'), away);
        await symlink(away, join(path, '.git'));
        return path;
      },
      'of its git folder',
    ],
  ])('that %s is refused, and says so', async (_, make, problem) => {
    const answer = await register(await make());
    expect(answer).toMatchObject({
      status: 422,
      body: { code: 'repository_unusable', problem: expect.stringContaining(problem) as string },
    });
  });

  it.each([['relative/path'], [''], ['/a\nb'], [7]])('is refused before anything is looked at: %j', async (path) => {
    expect(await office.ask(`POST /workspaces/${workspaceId}/repositories`, { name: 'x', path })).toMatchObject({
      status: 400,
      body: { code: 'validation_failed', fields: [{ path: 'path', problem: 'must be an absolute path' }] },
    });
  });
});

describe('the folders of the office itself', () => {
  it('are no place for a repository, nor may they lie in one', async () => {
    const root = await aFolder('house');
    await mkdir(join(root.path, 'den', 'office'), { recursive: true });
    const nested = await WorktreeOffice.open({ root: root.path, dataDir: join(root.path, 'den', 'office') });
    try {
      const workspace = await nested.workspace();
      const problemAt = async (path: string): Promise<unknown> => {
        await aRepository(path);
        return (await nested.ask(`POST /workspaces/${workspace}/repositories`, { name: 'x', path })).body.problem;
      };
      expect(await problemAt(join(root.path, 'den', 'office', 'x'))).toBe('it lies in a folder of the office itself');
      expect(await problemAt(join(root.path, 'den', 'office', 'work', 'x'))).toBe('it lies in a folder of the office itself');
      expect(await problemAt(join(root.path, 'den'))).toBe('a folder of the office itself lies in it');
      expect(await problemAt(join(root.path, 'den', 'office-2'))).toBeUndefined();
    } finally {
      await nested.close();
      await root.remove();
    }
  });
});
