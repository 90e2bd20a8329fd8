import { chmod, mkdir, stat } from 'node:fs/promises';
import { statSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, sep } from 'node:path';

/**
 * Makes the folder where agents work. Where the server is root, others may pass through it, and through the folders that hold
 * both it and the data dir, which are the office's own: its agents are others. Nobody may look into them, and root's home stays shut.
 */
export async function openWorkDir(workDir: string, dataDir: string): Promise<void> {
  const made = (await mkdir(workDir, { recursive: true })) !== undefined;
  if (process.getuid?.() !== 0) return;
  if (made) await chmod(workDir, 0o711);
  else await letPass(workDir);
  // Not HOME, which whoever starts the office may have set to anything.
  const { homedir } = userInfo();
  for (const folder of above(workDir)) {
    const holdsBoth = dataDir.startsWith(folder === sep ? sep : `${folder}${sep}`);
    if (holdsBoth && folder !== sep && folder !== homedir) await letPass(folder);
  }
}

/** The first of the folders above, or the file itself, that only its owner's user may enter or read; null when none is. */
export function shutToOthers(path: string): string | null {
  for (const place of [...above(path).toReversed(), path]) {
    const { mode, isFile } = lookAt(place);
    if ((mode & (isFile ? 0o004 : 0o001)) === 0) return place;
  }
  return null;
}

/** Only folders of root's own are changed, and only by the right to pass through. */
async function letPass(folder: string): Promise<void> {
  const { uid, mode } = await stat(folder);
  if (uid === 0 && (mode & 0o001) === 0) await chmod(folder, (mode & 0o7777) | 0o011);
}

function lookAt(path: string): { mode: number; isFile: boolean } {
  const found = statSync(path);
  return { mode: found.mode, isFile: found.isFile() };
}

/** From the next one up to the root. */
function above(path: string): string[] {
  const folders: string[] = [];
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    folders.push(folder);
    if (folder === dirname(folder)) return folders;
  }
}
