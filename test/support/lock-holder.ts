import { FolderLock, FolderLocked } from '../../src/platform/state/folder-lock.js';

/** Tries to take the folder named by its argument, says `held` or `refused`, and keeps what it has until it is killed. */
try {
  await FolderLock.take(process.argv[2]!);
  process.stdout.write('held\n');
  setInterval(() => undefined, 60_000);
} catch (error) {
  if (!(error instanceof FolderLocked)) throw error;
  process.stdout.write('refused\n');
}
