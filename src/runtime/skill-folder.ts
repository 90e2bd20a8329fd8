import { constants } from 'node:fs';
import { lstat, mkdir, open, readdir, readFile, rm, unlink, writeFile as writeNew } from 'node:fs/promises';
import { join } from 'node:path';
import { skillFile, type SystemSkill } from '../workspaces/domain/system-skills.js';

export type Skill = Pick<SystemSkill, 'slug' | 'description' | 'content'>;

/** Says that a folder is ours, and keeps it out of commits. */
const MARK = '# Written by Agent Office before every run.\n*\n';

/**
 * Writes the skills of a workspace below a session's folder, and takes away those of ours that are no more. Whatever is there
 * already and not ours stays as it is. Nothing is written through a link: the folder is an agent's own, and we are not that agent.
 * Answers what could not be written, and why.
 */
export async function writeSkills(folder: string, below: string, skills: readonly Skill[]): Promise<{ path: string; problem: string }[]> {
  if ((await kindOf(folder)) !== 'folder') return [];
  let base = folder;
  for (const part of below.split('/')) {
    base = join(base, part);
    const problem = await makeFolder(base);
    if (problem !== null) return [{ path: below, problem }];
  }
  const problems: { path: string; problem: string }[] = [];
  for (const skill of skills) {
    const problem = await writeSkill(join(base, skill.slug), skill);
    if (problem !== null) problems.push({ path: `${below}/${skill.slug}`, problem });
  }
  const kept = new Set(skills.map(({ slug }) => slug));
  for (const name of await readdir(base)) {
    const path = join(base, name);
    if (!kept.has(name) && (await isOurs(path))) await rm(path, { recursive: true });
  }
  return problems;
}

/**
 * As `writeSkills`, for a folder that is new and nobody else's yet, so nothing of it has to be looked at. All of it or nothing: what
 * is half there would be somebody else's to whoever writes them next.
 */
export async function layOutSkills(folder: string, below: string, skills: readonly Skill[]): Promise<void> {
  const base = join(folder, below);
  const [top] = below.split('/');
  const put = async (skill: Skill): Promise<void> => {
    const own = join(base, skill.slug);
    await mkdir(own, { mode: 0o700 });
    await writeNew(join(own, '.gitignore'), MARK, { flag: 'wx', mode: 0o600 });
    await writeNew(join(own, 'SKILL.md'), skillFile(skill), { flag: 'wx', mode: 0o600 });
  };
  await mkdir(base, { recursive: true, mode: 0o700 });
  const outcomes = await Promise.allSettled(skills.map(put));
  const failure = outcomes.find(({ status }) => status === 'rejected');
  if (failure === undefined) return;
  await rm(join(folder, top!), { recursive: true, force: true });
  throw (failure as PromiseRejectedResult).reason;
}

/**
 * Whether the folder holds just these skills of ours. Reads nothing that is not as long as it has to be: what an agent puts in
 * their place must not hold us up.
 */
export async function holdsSkills(folder: string, below: string, skills: readonly Skill[]): Promise<boolean> {
  const base = join(folder, below);
  const is = async (slug: string, skill: Skill): Promise<boolean> =>
    (await reads(join(base, slug, '.gitignore'), MARK)) && reads(join(base, slug, 'SKILL.md'), skillFile(skill));
  for (const skill of skills) if (!(await is(skill.slug, skill))) return false;
  const kept = new Set(skills.map(({ slug }) => slug));
  const names = await readdir(base).catch(() => []);
  for (const name of names) if (!kept.has(name) && (await reads(join(base, name, '.gitignore'), MARK))) return false;
  return true;
}

async function reads(path: string, text: string): Promise<boolean> {
  let file;
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch {
    return false;
  }
  try {
    const found = await file.stat();
    return found.isFile() && found.size === Buffer.byteLength(text) && (await file.readFile('utf8')) === text;
  } finally {
    await file.close();
  }
}

async function writeSkill(path: string, skill: Skill): Promise<string | null> {
  if ((await kindOf(path)) === 'folder' && !(await isOurs(path))) return 'there is another of that name';
  const problem = await makeFolder(path);
  if (problem !== null) return problem;
  try {
    await writeFile(join(path, '.gitignore'), MARK);
    await writeFile(join(path, 'SKILL.md'), skillFile(skill));
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

async function isOurs(path: string): Promise<boolean> {
  if ((await kindOf(path)) !== 'folder' || (await kindOf(join(path, '.gitignore'))) !== 'file') return false;
  return (await readFile(join(path, '.gitignore'), 'utf8')) === MARK;
}

async function makeFolder(path: string): Promise<string | null> {
  const kind = await kindOf(path);
  if (kind === 'folder') return null;
  if (kind !== null) return `${kind === 'link' ? 'a link' : 'something else'} is there instead of a folder`;
  await mkdir(path, { mode: 0o700 });
  return null;
}

/** A file of its own: what stands there may have other names elsewhere. */
async function writeFile(path: string, text: string): Promise<void> {
  if ((await kindOf(path)) === 'file') await unlink(path);
  const file = await open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW, 0o600);
  try {
    await file.writeFile(text);
  } finally {
    await file.close();
  }
}

async function kindOf(path: string): Promise<'folder' | 'file' | 'link' | 'other' | null> {
  try {
    const found = await lstat(path);
    if (found.isSymbolicLink()) return 'link';
    return found.isDirectory() ? 'folder' : found.isFile() ? 'file' : 'other';
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
