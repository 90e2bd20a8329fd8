import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { skillsFolderOf } from '../../../src/execution/adapters/skills-folder.js';
import { RUNTIME_ACTIONS } from '../../../src/runtime/all-actions.js';
import { LaunchKit } from '../../../src/runs/launch-kit.js';
import { holdsSkills, writeSkills } from '../../../src/runtime/skill-folder.js';
import { NewFolderSkills } from '../../../src/runtime/new-folder-skills.js';
import { writeSkillsAs } from '../../../src/runtime/skill-writer.js';
import { shutToOthers } from '../../../src/platform/state/work-dir.js';
import { SYSTEM_SKILLS } from '../../../src/workspaces/domain/system-skills.js';
import { SkillService } from '../../../src/workspaces/skill.service.js';
import { RuntimeDesk } from '../../support/runtime-desk.js';

/** As root only, and where the program lies in folders that others may pass. */
const othersReach = (path: string): boolean => process.getuid?.() === 0 && shutToOthers(path) === null;

const SKILL = { slug: 'doors', name: 'Doors', description: 'Use when a door\nsqueaks: "oil".', content: 'Oil it.\n' };

describe('the skills of a workspace', () => {
  let desk: RuntimeDesk;
  beforeAll(async () => void (desk = await RuntimeDesk.open()));
  afterAll(() => desk.close());
  const of = () => `/workspaces/${desk.workspaceId}/skills`;
  interface Listed {
    readonly id: string;
    readonly slug: string;
    readonly is_system: boolean;
  }
  const list = async () => (await desk.office.must<{ items: Listed[] }>(`GET ${of()}`)).items;

  it('begin with those of the office, which teach every action and are read-only', async () => {
    const skills = await list();
    expect(skills.map(({ slug }) => slug).toSorted()).toEqual(SYSTEM_SKILLS.map(({ slug }) => slug).toSorted());
    const taught = SYSTEM_SKILLS.map(({ content }) => content).join('\n');
    for (const { declared } of RUNTIME_ACTIONS) {
      const [method, path] = declared.route.split(' ') as [string, string];
      const written = `| ${declared.action} | ${method} /runtime/${path.replace('*', '{path}').replaceAll(/:(\w+)/g, '{$1}')}`;
      expect(taught).toContain(written);
    }
    const [own] = skills;
    expect(await desk.office.ask(`PATCH /skills/${own!.id}`, { name: 'X' })).toMatchObject({
      status: 409,
      body: { code: 'skill_read_only' },
    });
    expect(await desk.office.ask(`DELETE /skills/${own!.id}`)).toMatchObject({ status: 409, body: { code: 'skill_read_only' } });
  });

  it('are written, changed and deleted by admins', async () => {
    const made = await desk.office.must<Listed & { content: string }>(`POST ${of()}`, SKILL);
    expect(made).toMatchObject({ ...SKILL, is_system: false, workspace_id: desk.workspaceId });
    expect((await desk.office.must<Listed>(`GET /skills/${made.id}`)).slug).toBe('doors');
    expect(await desk.office.ask(`POST ${of()}`, SKILL)).toMatchObject({ status: 409, body: { code: 'slug_taken' } });
    const windows = await desk.office.must<Listed>(`POST ${of()}`, { ...SKILL, slug: 'windows' });
    expect(await desk.office.ask(`PATCH /skills/${windows.id}`, { slug: 'doors' })).toMatchObject({
      status: 409,
      body: { code: 'slug_taken' },
    });
    expect(await desk.office.must(`PATCH /skills/${windows.id}`, { content: 'Clean it.' })).toMatchObject({
      slug: 'windows',
      content: 'Clean it.',
    });
    await desk.office.must(`DELETE /skills/${windows.id}`);
    expect(await desk.office.ask(`GET /skills/${windows.id}`)).toMatchObject({ status: 404 });
  });

  it.each(['office-own', 'Upper', '-a', 'a-', 'a b', '../a', '', 'a'.repeat(61)])('have no slug %s', async (slug) => {
    expect(await desk.office.ask(`POST ${of()}`, { ...SKILL, slug })).toMatchObject({ status: 400, body: { fields: [{ path: 'slug' }] } });
  });

  it('end at a hundred', async () => {
    const there = await desk.elsewhere();
    await desk.office.rows(
      `insert into skills (id, workspace_id, slug, name, description, content) select gen_random_uuid(), $1, 's' || n, 's', 's', 's' from generate_series(1, 100) n`,
      there.workspaceId,
    );
    expect(await desk.office.ask(`POST /workspaces/${there.workspaceId}/skills`, SKILL)).toMatchObject({
      status: 409,
      body: { code: 'too_many_skills' },
    });
    expect((await (await there.worker()).must<{ items: unknown[] }>('GET /skills')).items).toHaveLength(100 + SYSTEM_SKILLS.length);
  });

  it('are brought up to date when a new version of the office starts', async () => {
    await desk.office.rows(`update skills set content = 'old' where workspace_id = $1 and slug = 'office-api'`, desk.workspaceId);
    await desk.office.rows(`delete from skills where workspace_id = $1 and slug = 'office-memory'`, desk.workspaceId);
    await desk.office.app.app.get(SkillService, { strict: false }).onApplicationBootstrap();
    const [row] = await desk.office.rows<{ content: string }>(
      `select content from skills where workspace_id = $1 and slug = 'office-api'`,
      desk.workspaceId,
    );
    expect(row!.content).toBe(SYSTEM_SKILLS.find(({ slug }) => slug === 'office-api')!.content);
    expect((await list()).map(({ slug }) => slug)).toContain('office-memory');
  });

  it('are in the folder of a session, and in its first prompt, and what could not be written is in the run’s log', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'office-session-'));
    const ada = await desk.worker();
    expect(ada.run.prompt.preamble).toContain(`.office/skills/<name>/SKILL.md:\n- doors: Use when a door squeaks: "oil".\n- office-api: `);
    expect(ada.run.prompt.turn).not.toContain('office-api');
    mkdirSync(join(folder, '.office', 'skills', 'doors'), { recursive: true });
    const kit = await desk.office.app.app.get(LaunchKit, { strict: false }).pack({ ...ada.run, folder }, { furnished: false });
    expect(kit.env).toEqual({ OFFICE_API_URL: expect.stringMatching(/^http:\/\/.*\/api\/v1$/), OFFICE_API_KEY: expect.any(String) });
    expect(readdirSync(join(folder, '.office', 'skills')).toSorted()).toEqual(
      ['doors', ...SYSTEM_SKILLS.map(({ slug }) => slug)].toSorted(),
    );
    expect(await desk.office.rows(`select event_type, level, payload from office_run_events where run_id = $1`, ada.run.runId)).toEqual([
      {
        event_type: 'skills.not_written',
        level: 'warn',
        payload: { skills: [{ path: '.office/skills/doors', problem: 'there is another of that name' }] },
      },
    ]);
    rmSync(folder, { recursive: true });
  });
});

describe('the folder of skills', () => {
  let root: string;
  let folder: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'office-skills-'));
    folder = join(root, 'session');
    mkdirSync(folder);
  });
  afterEach(() => rmSync(root, { recursive: true }));
  const at = (...parts: string[]): string => join(folder, '.claude', 'skills', ...parts);
  const write = (...skills: (typeof SKILL)[]) => writeSkills(folder, '.claude/skills', skills);

  it.each([
    ['claude', '.claude/skills'],
    ['codex', '.agents/skills'],
    ['gemini', '.gemini/skills'],
    ['copilot', '.github/skills'],
    ['opencode', '.opencode/skills'],
    ['mock', '.office/skills'],
    ['custom', '.agents/skills'],
  ])('of %s is where it looks', (adapter, path) => {
    expect(skillsFolderOf(adapter)).toBe(path);
  });

  it('has one a skill, with front matter that any program reads, kept out of commits and from others', async () => {
    expect(await write(SKILL)).toEqual([]);
    expect(readFileSync(at('doors', 'SKILL.md'), 'utf8')).toBe(
      '---\nname: doors\ndescription: "Use when a door\\nsqueaks: \\"oil\\"."\n---\n\nOil it.\n',
    );
    expect(readFileSync(at('doors', '.gitignore'), 'utf8')).toContain('\n*\n');
    expect(statSync(at('doors')).mode & 0o777).toBe(0o700);
    expect(statSync(at('doors', 'SKILL.md')).mode & 0o777).toBe(0o600);
  });

  it('follows the registry, and touches nothing that is not ours', async () => {
    mkdirSync(at('theirs'), { recursive: true });
    writeFileSync(at('theirs', 'SKILL.md'), 'theirs');
    await write(SKILL, { ...SKILL, slug: 'windows' });
    expect(await write({ ...SKILL, slug: 'windows', content: 'Clean it.' }, { ...SKILL, slug: 'theirs' })).toEqual([
      { path: '.claude/skills/theirs', problem: 'there is another of that name' },
    ]);
    expect(readdirSync(at()).toSorted()).toEqual(['theirs', 'windows']);
    expect(readFileSync(at('windows', 'SKILL.md'), 'utf8')).toContain('Clean it.');
    expect(readFileSync(at('theirs', 'SKILL.md'), 'utf8')).toBe('theirs');
  });

  it('is not written through a link, wherever it stands', async () => {
    const outside = join(root, 'outside');
    mkdirSync(join(outside, 'skills', 'doors'), { recursive: true });
    symlinkSync(outside, join(folder, '.claude'));
    expect(await write(SKILL)).toEqual([{ path: '.claude/skills', problem: 'a link is there instead of a folder' }]);
    rmSync(join(folder, '.claude'));

    mkdirSync(at(), { recursive: true });
    symlinkSync(join(outside, 'skills', 'doors'), at('doors'));
    expect(await write(SKILL)).toEqual([{ path: '.claude/skills/doors', problem: 'a link is there instead of a folder' }]);
    rmSync(at('doors'));

    await write(SKILL);
    rmSync(at('doors', 'SKILL.md'));
    writeFileSync(join(outside, 'secret'), 'secret');
    symlinkSync(join(outside, 'secret'), at('doors', 'SKILL.md'));
    expect(await write(SKILL)).toMatchObject([{ path: '.claude/skills/doors', problem: expect.stringContaining('ELOOP') }]);
    expect(readFileSync(join(outside, 'secret'), 'utf8')).toBe('secret');
    expect(readdirSync(join(outside, 'skills', 'doors'))).toEqual([]);
  });

  it('is not made for a session whose folder is gone', async () => {
    rmSync(folder, { recursive: true });
    expect(await write(SKILL)).toEqual([]);
    expect(readdirSync(root)).toEqual([]);
  });
});

describe('skills in a new folder', () => {
  let root: string;
  beforeEach(() => void (root = mkdtempSync(join(tmpdir(), 'office-new-'))));
  afterEach(() => rmSync(root, { recursive: true }));
  let asked = 0;
  beforeEach(() => void (asked = 0));
  const put = (into: NewFolderSkills, name: string, skills = [SKILL], version = 'v1') =>
    into.putInto({ folder: join(root, name), below: '.office/skills' }, 'workspace', version, async () => {
      asked++;
      return skills;
    });
  const file = (name: string): string => join(root, name, '.office', 'skills', 'doors', 'SKILL.md');

  it('are files of its own, read once for all that begin with that version', async () => {
    const skills = new NewFolderSkills();
    const names = ['a', 'b', 'c', 'd'];
    expect(await Promise.all(names.map((name) => put(skills, name)))).toEqual([true, true, true, true]);
    expect(new Set(names.map((name) => statSync(file(name)).ino)).size).toBe(4);
    expect(existsSync(join(root, 'a', '.office', 'skills', 'doors', '.gitignore'))).toBe(true);
    writeFileSync(file('a'), 'Steal it.');
    await put(skills, 'e');
    for (const name of ['b', 'e']) expect(readFileSync(file(name), 'utf8')).toContain('Oil it.');
    expect(asked).toBe(1);
    await put(skills, 'f', [{ ...SKILL, content: 'Grease it.' }], 'v2');
    expect(readFileSync(file('f'), 'utf8')).toContain('Grease it.');
    expect(asked).toBe(2);
  });

  it('are what the writer would have written', async () => {
    await put(new NewFolderSkills(), 'a');
    expect(await holdsSkills(join(root, 'a'), '.office/skills', [SKILL])).toBe(true);
  });

  it('are all there or not at all, so that they can be written in another way', async () => {
    const twice = [SKILL, { ...SKILL, slug: 'windows' }, SKILL];
    expect(await put(new NewFolderSkills(), 'a', twice)).toBe(false);
    expect(readdirSync(join(root, 'a'))).toEqual([]);
    expect(await writeSkills(join(root, 'a'), '.office/skills', [SKILL])).toEqual([]);
    expect(readFileSync(file('a'), 'utf8')).toContain('Oil it.');
  });

  it('are asked for again after they could not be read', async () => {
    const skills = new NewFolderSkills();
    const broken = skills.putInto({ folder: join(root, 'a'), below: '.office/skills' }, 'workspace', 'v1', () =>
      Promise.reject(new Error('away')),
    );
    expect(await broken).toBe(false);
    expect(await put(skills, 'a')).toBe(true);
  });
});

describe.runIf(othersReach(join(import.meta.dirname, '../../../dist/src/runtime/skill-writer.main.js')))(
  'skills of a workspace with a user of its own',
  () => {
    const USER = { uid: 61_999, gid: 61_999 };
    let root: string;
    beforeEach(() => {
      root = mkdtempSync(join(tmpdir(), 'office-skills-'));
      chmodSync(root, 0o711);
      mkdirSync(join(root, 'session'), { mode: 0o700 });
      chownSync(join(root, 'session'), USER.uid, USER.gid);
    });
    afterEach(() => rmSync(root, { recursive: true }));
    const write = (skills = [SKILL]) => writeSkillsAs(USER, join(root, 'session'), '.office/skills', skills);
    const file = (): string => join(root, 'session', '.office', 'skills', 'doors', 'SKILL.md');

    it('are that user’s, written again only when they are not as they should be, and taken away when they are no more', async () => {
      expect(await write()).toEqual([]);
      const first = statSync(file());
      expect([first.uid, first.gid]).toEqual([USER.uid, USER.gid]);
      expect(await write()).toEqual([]);
      expect(statSync(file()).mtimeMs).toBe(first.mtimeMs);
      writeFileSync(file(), 'something else');
      expect(await write()).toEqual([]);
      expect(readFileSync(file(), 'utf8')).toContain('Oil it.');
      expect(await write([])).toEqual([]);
      expect(existsSync(file())).toBe(false);
    });

    it('never reach a place that is not that user’s, however the way there is bent', async () => {
      mkdirSync(join(root, 'root'), { mode: 0o755 });
      symlinkSync(join(root, 'root'), join(root, 'session', '.office'));
      expect(await write()).toEqual([{ path: '.office/skills', problem: 'a link is there instead of a folder' }]);
      rmSync(join(root, 'session', '.office'));
      mkdirSync(join(root, 'session', '.office'), { mode: 0o700 });
      expect(await write()).toEqual([{ path: '.office/skills', problem: expect.stringMatching(/EACCES|Command failed/) }]);
      expect(readdirSync(join(root, 'root'))).toEqual([]);
    });
  },
);
