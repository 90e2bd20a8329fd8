import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newId } from '../../../src/platform/ids.js';
import { aPerson } from '../../support/front-desk.js';
import { aRepository, commitIn, emptyCommits, git, writeIn } from '../../support/git-folder.js';
import { WorktreeOffice } from '../../support/worktree-office.js';
import type { ChangesView } from '../../../src/worktrees/worktree.view.js';

let office: WorktreeOffice;
let workspaceId: string;
let path: string;
let taskId: string;
let folder: string;
beforeAll(async () => {
  office = await WorktreeOffice.open();
});
afterAll(() => office.close());
beforeEach(async () => {
  workspaceId = await office.workspace();
  path = await aRepository(join(office.root, newId()), {
    'a.txt': 'one\ntwo\n',
    'old.txt': 'a long enough text\nto be known again\n',
    'gone.txt': 'x\n',
  });
  ({ taskId } = await office.task(workspaceId, { repository_id: await office.register(workspaceId, path) }));
  ({ folder } = await office.prepared(workspaceId, taskId));
});

const changes = (query = ''): Promise<ChangesView> => office.must<ChangesView>(`GET /tasks/${taskId}/changes${query}`);

async function wholePatch(bytes: number): Promise<{ text: string; pages: number }> {
  let text = '';
  let pages = 0;
  for (let cursor: string | null = ''; cursor !== null; pages++) {
    const { patch }: ChangesView = await changes(`?patch_bytes=${bytes}${cursor === '' ? '' : `&patch_cursor=${cursor}`}`);
    expect(Buffer.byteLength(patch.text)).toBeLessThanOrEqual(bytes);
    text += patch.text;
    cursor = patch.next_cursor;
  }
  return { text, pages };
}

describe('the changes of a task', () => {
  it('are nothing at first', async () => {
    const head = await git(path, 'rev-parse', 'HEAD');
    expect(await changes()).toEqual({
      branch: 'office/OFF-1',
      base: { branch: 'main', commit: head },
      head,
      commits: [],
      commits_total: 0,
      files: [],
      files_cut: false,
      uncommitted: [],
      uncommitted_cut: false,
      patch: { text: '', next_cursor: null },
    });
  });

  it('are its commits, its files and their patch, and what is not committed', async () => {
    await git(folder, 'mv', 'old.txt', 'new name.txt');
    await git(folder, 'rm', '-q', 'gone.txt');
    await writeFile(join(folder, 'image.bin'), Buffer.from([0, 1, 2, 0, 255]));
    const first = await commitIn(folder, { 'a.txt': 'one\nthree\n' }, 'Subject \u{1f6aa} "one"\n\nBody');
    const second = await commitIn(folder, { 'tab\there.txt': 'x' }, 'Second');
    await writeIn(folder, { 'a.txt': 'not yet\n', 'untracked/x': 'x\n' });
    const shown = await changes();
    expect(shown.commits.map(({ commit, author, subject }) => [commit, author, subject])).toEqual([
      [second, 'Pat', 'Second'],
      [first, 'Pat', 'Subject \u{1f6aa} "one"'],
    ]);
    expect(Number.isNaN(Date.parse(shown.commits[0]!.at))).toBe(false);
    expect(shown.files).toEqual([
      { path: 'a.txt', old_path: null, change: 'modified', additions: 1, deletions: 1 },
      { path: 'gone.txt', old_path: null, change: 'deleted', additions: 0, deletions: 1 },
      { path: 'image.bin', old_path: null, change: 'added', additions: null, deletions: null },
      { path: 'new name.txt', old_path: 'old.txt', change: 'renamed', additions: 0, deletions: 0 },
      { path: 'tab\there.txt', old_path: null, change: 'added', additions: 1, deletions: 0 },
    ]);
    expect(shown.uncommitted).toEqual([
      { path: 'a.txt', change: 'modified' },
      { path: 'untracked/', change: 'untracked' },
    ]);
    expect(shown.patch.text).toContain('-two\n+three\n');
    expect(shown.patch.text).not.toContain('not yet');
    expect(shown).toMatchObject({ head: second, commits_total: 2, patch: { next_cursor: null } });
  });

  it('leave out what came in from the base, and stay when all has gone into it', async () => {
    await commitIn(folder, { 'mine.txt': 'x\n' });
    await commitIn(path, { 'theirs.txt': 'x\n' });
    await git(folder, 'merge', '-q', '--no-edit', 'main');
    expect((await changes()).files.map((file) => file.path)).toEqual(['mine.txt']);
    await git(path, 'merge', '-q', 'office/OFF-1');
    expect((await changes()).files.map((file) => file.path)).toContain('mine.txt');
  });

  it('come page by page, each a bounded one, which together are the patch', async () => {
    const line = 'ünïcödé 🚪 und so weiter\n';
    await commitIn(folder, { 'big.txt': line.repeat(20_000), 'one-line.txt': '🚪'.repeat(30_000) });
    const whole = `${await git(folder, 'diff-tree', '-r', '-p', 'main', 'HEAD')}\n`;
    const { text, pages } = await wholePatch(65_536);
    expect(text).toBe(whole);
    expect(pages).toBeGreaterThan(8);
    expect((await changes()).patch.text.length).toBeLessThanOrEqual(65_536);
    expect((await office.ask(`GET /tasks/${taskId}/changes?patch_bytes=${10 * 1024 * 1024}`)).status).toBe(400);
  });

  it('stay small however much there is', async () => {
    const many = Object.fromEntries(Array.from({ length: 1_500 }, (_, n) => [`many/${n}.txt`, 'x\n']));
    await commitIn(folder, many);
    await emptyCommits(folder, 'office/OFF-1', 210);
    await writeIn(folder, Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`loose-${n}.txt`, 'x\n'])));
    const shown = await changes('?patch_bytes=1024');
    expect(shown).toMatchObject({ commits_total: 211, files_cut: true, uncommitted_cut: true });
    expect([shown.commits.length, shown.files.length, shown.uncommitted!.length]).toEqual([200, 1_000, 200]);
    expect(JSON.stringify(shown).length).toBeLessThan(300_000);
  });

  it('begin again when the branch has moved between two pages', async () => {
    await commitIn(folder, { 'big.txt': 'x\n'.repeat(5_000) });
    const { patch } = await changes('?patch_bytes=1024');
    await commitIn(folder, { 'more.txt': 'x\n' });
    const next = await office.ask(`GET /tasks/${taskId}/changes?patch_cursor=${patch.next_cursor!}`);
    expect(next).toMatchObject({ status: 409, body: { code: 'stale_write' } });
    expect(await office.ask(`GET /tasks/${taskId}/changes?patch_cursor=nonsense`)).toMatchObject({
      status: 400,
      body: { code: 'invalid_cursor' },
    });
  });

  it('may be in any encoding', async () => {
    await writeFile(join(folder, 'latin.txt'), Buffer.from([0xe9, 0x74, 0xe9, 0x0a]));
    await commitIn(folder, {});
    const shown = await changes();
    expect(shown.patch.text).toContain('+\ufffdt\ufffd');
    expect(shown.files).toMatchObject([{ path: 'latin.txt', additions: 1 }]);
  });

  it('are for people of the workspace', async () => {
    const stranger = await aPerson(office.app);
    expect((await office.ask(`GET /tasks/${taskId}/changes`, undefined, stranger.token)).status).toBe(404);
    expect((await office.ask(`POST /tasks/${taskId}/worktree/push`, {}, stranger.token)).status).toBe(404);
    expect((await office.ask(`GET /workspaces/${workspaceId}/worktrees`, undefined, stranger.token)).status).toBe(404);
  });
});
