import { accessSync, constants, statSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';

/**
 * The absolute path of a program, as a shell would find it, without a shell; null when there is none. Relative paths and
 * relative PATH entries are refused: they would be looked up in a folder that agents write to.
 */
export function findProgram(name: string, path: string | undefined): string | null {
  if (isAbsolute(name)) return isProgram(name) ? name : null;
  if (name === '' || name.includes('/')) return null;
  const folders = (path ?? '').split(':').filter((folder) => isAbsolute(folder));
  return folders.map((folder) => join(folder, name)).find(isProgram) ?? null;
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
