import { execFile } from 'node:child_process';
import { join } from 'node:path';
import type { MachineUser } from '../workspaces/agent-users.service.js';
import { holdsSkills, writeSkills, type Skill } from './skill-folder.js';

const PROGRAM = import.meta.filename.endsWith('.ts')
  ? join(import.meta.dirname, '..', '..', 'dist', 'src', 'runtime', 'skill-writer.main.js')
  : join(import.meta.dirname, 'skill-writer.main.js');
const DEADLINE_MS = 15_000;

type Problems = readonly { readonly path: string; readonly problem: string }[];

/**
 * Skills in the folder of a session, as the user whose folder it is: written by anybody else they would not be that user's to
 * read, and root must not write where an agent can move folders about. Nothing is started where nothing is to be written.
 */
export async function writeSkillsAs(user: MachineUser | null, folder: string, below: string, skills: readonly Skill[]): Promise<Problems> {
  if (await holdsSkills(folder, below, skills)) return [];
  if (user === null) return writeSkills(folder, below, skills);
  return new Promise((resolve) => {
    const options = { ...user, cwd: '/', env: {}, timeout: DEADLINE_MS, killSignal: 'SIGKILL', maxBuffer: 1024 * 1024 } as const;
    const child = execFile(process.execPath, [PROGRAM], options, (error, stdout) =>
      resolve(error === null ? (JSON.parse(stdout) as Problems) : [{ path: below, problem: error.message.split('\n')[0]! }]),
    );
    // It may be gone before it has read all: then its end says why.
    child.stdin!.on('error', () => undefined).end(JSON.stringify({ folder, below, skills }));
  });
}
