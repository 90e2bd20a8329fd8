import 'reflect-metadata';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ExecutionOptions } from '../../src/execution/execution-options.js';
import { ProcessSupervision } from '../../src/execution/supervisor/process-supervision.service.js';
import { SystemClock } from '../../src/platform/clock/system-clock.js';
import { OfficeSettings } from '../../src/platform/config/office-settings.js';
import { Git } from '../../src/repositories/git.service.js';
import { RepositoryInspector } from '../../src/repositories/repository-inspector.service.js';
import { WorktreeMaker } from '../../src/worktrees/worktree-maker.service.js';
import { aFolder } from '../support/git-folder.js';
import { aRepositoryOf, gitAlone } from '../support/many-files.js';
import { percentile, type Bench, type Figure } from './figures.js';

const ROUNDS = 15;

/** Everything the office does for a new worktree, but for two statements to the database, beside git's own command for it. */
export const worktreeBench: Bench = {
  name: 'worktree',
  async run({ size }): Promise<Figure[]> {
    const root = await aFolder('bench-worktrees');
    const stateDir = mkdtempSync(join(tmpdir(), 'office-bench-state-'));
    const clock = new SystemClock();
    const supervision = new ProcessSupervision(new ExecutionOptions(stateDir), clock);
    const git = new Git(supervision, clock);
    const settings = Object.assign(new OfficeSettings(), {
      OFFICE_REPOSITORY_ROOTS: [root.path],
      OFFICE_DATA_DIR: join(stateDir, 'data'),
      OFFICE_WORK_DIR: join(stateDir, 'work'),
    });
    const inspector = new RepositoryInspector(git, settings);
    const maker = new WorktreeMaker(git);
    try {
      const path = await aRepositoryOf(Math.round(10_000 * size), join(root.path, 'repository'));
      const alone: number[] = [];
      const ours: number[] = [];
      for (let round = -2; round < ROUNDS; round++) {
        const onlyGit = await gitAlone(path, join(root.path, `alone${round}`), `alone${round}`);
        const began = performance.now();
        const found = await inspector.open(path, { identity: null, home: null });
        const plan = await maker.plan(found, `OFF${round}`);
        await maker.make(found, plan, join(root.path, `ours${round}`), false, new AbortController().signal);
        const took = performance.now() - began;
        // The first rounds warm the caches of the disk, and start the supervisor.
        if (round < 0) continue;
        alone.push(onlyGit);
        ours.push(took);
      }
      const [gitP50, oursP50] = [percentile(alone, 0.5), percentile(ours, 0.5)];
      return [
        {
          what: 'worktree of 10,000 files, p50',
          ours: oursP50,
          baseline: { of: 'git worktree add', value: gitP50 },
          unit: 'ms',
          target: 'git + 50 ms',
        },
        { what: 'of that beside git', ours: oursP50 - gitP50, unit: 'ms', target: 'under 50 ms' },
      ];
    } finally {
      await supervision.close();
      await root.remove();
      rmSync(stateDir, { recursive: true, force: true });
    }
  },
};
