import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newId } from '../../../src/platform/ids.js';
import { aProgram, aRepository, commitIn, git, writeIn } from '../../support/git-folder.js';
import { WorktreeOffice } from '../../support/worktree-office.js';

let office: WorktreeOffice;
let workspaceId: string;
beforeAll(async () => {
  office = await WorktreeOffice.open();
});
afterAll(() => office.close());
beforeEach(async () => {
  workspaceId = await office.workspace();
});

const HOOKS = [
  'applypatch-msg commit-msg fsmonitor-watchman post-applypatch post-checkout post-commit post-index-change post-merge post-receive',
  'post-rewrite post-update pre-applypatch pre-auto-gc pre-commit pre-merge-commit pre-push pre-rebase pre-receive prepare-commit-msg',
  'proc-receive push-to-checkout reference-transaction sendemail-validate update',
].flatMap((line) => line.split(' '));

/** A repository in which whatever git can be made to run writes down its name. */
async function aTrap(): Promise<{ path: string; remote: string; sprung: () => string }> {
  const id = newId();
  const path = await aRepository(join(office.root, id), { 'a.txt': 'a\n', 'sub/b.bin': 'b\n' });
  const remote = join(office.root, `${id}-remote.git`);
  await git(office.root, 'clone', '-q', '--bare', path, remote);
  await git(path, 'remote', 'add', 'origin', remote);
  const log = join(office.root, `${id}.log`);
  const trap = (name: string): Promise<string> => aProgram(join(office.root, `${id}-traps`, name), `echo ${name} >> ${log}\ncat`);
  for (const hook of HOOKS) {
    for (const folder of [join(path, '.git', 'hooks'), join(path, '.githooks'), join(remote, 'hooks')]) {
      await aProgram(join(folder, hook), `echo hook ${hook} >> ${log}`);
    }
  }
  await commitIn(path, { '.gitattributes': '*.txt filter=evil diff=evil\n*.bin filter=worse\n' }, 'Attributes');
  const settings: [string, string][] = [
    ['core.hooksPath', join(path, '.githooks')],
    ['core.fsmonitor', await trap('fsmonitor')],
    ['core.sshCommand', await trap('ssh')],
    ['core.askPass', await trap('askpass')],
    ['core.pager', await trap('pager')],
    ['core.editor', await trap('editor')],
    ['core.gitProxy', await trap('proxy')],
    ['core.alternateRefsCommand', await trap('alternates')],
    ['credential.helper', `!${await trap('credential')}`],
    ['diff.external', await trap('diff-external')],
    ['diff.evil.command', await trap('diff-command')],
    ['diff.evil.textconv', await trap('textconv')],
    ['filter.evil.clean', await trap('clean')],
    ['filter.evil.smudge', await trap('smudge')],
    ['filter.evil.required', 'true'],
    ['filter.worse.process', await trap('process')],
    ['filter.a.b=c.smudge', await trap('odd-filter')],
    ['gpg.program', await trap('gpg')],
    ['log.showSignature', 'true'],
    ['push.gpgSign', 'if-asked'],
    ['remote.origin.receivepack', await trap('receivepack')],
    ['remote.origin.uploadpack', await trap('uploadpack')],
    ['pager.log', await trap('pager-log')],
    ['pager.diff-tree', await trap('pager-diff')],
    ['sequence.editor', await trap('sequence')],
    ['gc.auto', '1'],
  ];
  for (const [key, value] of settings) await git(path, 'config', key, value);
  // And once more from a file that the configuration includes.
  await writeIn(path, { '.git/more.cfg': `[filter "included"]\n\tsmudge = ${await trap('included')}\n` });
  await git(path, 'config', 'include.path', 'more.cfg');
  return { path, remote, sprung: () => (existsSync(log) ? readFileSync(log, 'utf8') : '') };
}

describe('what a repository would have git run', () => {
  it('is never run: not at making, looking, pushing, resuming or removing', async () => {
    const { path, remote, sprung } = await aTrap();
    const before = sprung();
    // The trap works: git as a person would use it does spring it.
    expect(before).not.toBe('');
    const { agentId, taskId } = await office.task(workspaceId, { repository_id: await office.register(workspaceId, path) });
    const run = await office.worked(workspaceId, taskId);
    // The agent's own doing, with everything off, so that only the office can spring a trap from here on.
    const off = [
      '-c',
      'core.hooksPath=/dev/null',
      '-c',
      'core.fsmonitor=false',
      '-c',
      'filter.evil.clean=',
      '-c',
      'filter.evil.required=false',
    ];
    await writeIn(run.folder, { 'new.md': 'x\n', 'a.txt': 'changed\n' });
    await git(run.folder, ...off, '-c', 'filter.worse.process=', 'add', 'new.md', 'a.txt');
    await git(run.folder, ...off, '-c', 'filter.worse.process=', 'commit', '-q', '--no-gpg-sign', '-m', 'Work');
    await writeIn(run.folder, { 'a.txt': 'not committed\n' });
    const armed = sprung();
    const changes = await office.must<{ patch: { text: string }; uncommitted: object[] }>(`GET /tasks/${taskId}/changes`);
    expect(changes.patch.text).toContain('+changed');
    expect(changes.uncommitted).toEqual([{ path: 'a.txt', change: 'modified' }]);
    await office.must(`POST /tasks/${taskId}/worktree/push`, {});
    expect(await git(remote, 'log', '--format=%s', '-n', '1', 'office/OFF-1')).toBe('Work');
    await office.wake(agentId, taskId);
    await office.worked(workspaceId, taskId);
    await office.must(`POST /tasks/${taskId}/worktree/discard`, { lose_work: true });
    expect(sprung()).toBe(armed);
    expect(armed).toBe(before);
  });

  it('is not run for what the folder says of itself either', async () => {
    const { sprung, path } = await aTrap();
    const armed = sprung();
    const honest = await aRepository(join(office.root, newId()));
    const { agentId, taskId } = await office.task(workspaceId, { repository_id: await office.register(workspaceId, honest) });
    const run = await office.worked(workspaceId, taskId);
    // An agent points its worktree at a repository of its own making.
    await writeIn(run.folder, { '.git': `gitdir: ${path}/.git\n`, 'x.txt': 'x\n' });
    await office.wake(agentId, taskId);
    await office.prepared(workspaceId, taskId);
    expect((await office.must<{ uncommitted: object[] }>(`GET /tasks/${taskId}/changes`)).uncommitted).toEqual([
      { path: 'x.txt', change: 'untracked' },
    ]);
    expect(sprung()).toBe(armed);
  });

  it.each([['ext::sh -c "touch %s"'], ['fd::3'], ['git://127.0.0.1/x']])('is no way to push: %j', async (url) => {
    const path = await aRepository(join(office.root, newId()));
    const mark = join(office.root, newId());
    await git(path, 'remote', 'add', 'origin', url.replace('%s', mark));
    await git(path, 'config', 'protocol.allow', 'always');
    const { taskId } = await office.task(workspaceId, { repository_id: await office.register(workspaceId, path) });
    await office.worked(workspaceId, taskId);
    const answer = await office.ask(`POST /tasks/${taskId}/worktree/push`, {});
    expect(answer).toMatchObject({ status: 409, body: { code: 'push_failed', problem: expect.stringContaining('not allowed') as string } });
    expect(existsSync(mark)).toBe(false);
  });
});
