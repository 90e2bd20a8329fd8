import { randomBytes } from 'node:crypto';
import { link, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Puts a private file in place, whole or not at all, so that it is there after a power cut once this has returned. */
export async function writeDurably(path: string, text: string): Promise<void> {
  await throughTemporary(path, text, (temporary) => rename(temporary, path));
}

/** The text of a private file, which is made with `text` when it is missing. Of several makers, one wins and all get its text. */
export async function readOrMake(path: string, text: () => string): Promise<string> {
  for (;;) {
    const existing = await whenThere(readFile(path, 'utf8'));
    if (existing !== null) return existing;
    await throughTemporary(path, text(), (temporary) => link(temporary, path)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  }
}

/** Null only when it does not exist: what cannot be looked at must not be taken for missing. */
export function whenThere<T>(looked: Promise<T>): Promise<T | null> {
  return looked.catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
}

export async function syncFolder(dir: string): Promise<void> {
  const folder = await open(dir, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

async function throughTemporary(path: string, text: string, putInPlace: (temporary: string) => Promise<void>): Promise<void> {
  const temporary = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    const file = await open(temporary, 'wx', 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await putInPlace(temporary);
    await syncFolder(dirname(path));
  } finally {
    await rm(temporary, { force: true });
  }
}
