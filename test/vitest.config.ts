import { defineConfig } from 'vitest/config';

/**
 * Four rings: rules (no I/O), rooms against real PostgreSQL, the office through its front door with real processes, and several
 * offices under every fault there is.
 */
const shared = {
  pool: 'forks',
  testTimeout: 30_000,
  hookTimeout: 60_000,
  root: '.',
  // Where everything is at stake on one run, a test that fails by chance is named in red at the end rather than ending it.
  // Nowhere else: by hand a test that fails once has failed.
  retry: process.env.CI ? 1 : 0,
} as const;

/** The faults that every change meets, in two minutes; `npm run test:faults` has all of them, and in full size. */
const FAULTS = process.env.OFFICE_FAULTS ? ['*'] : ['clock', 'cross-server', 'database-away', 'kill-nine', 'many-wakes'];

export default defineConfig({
  test: {
    reporters: ['default', './test/support/plain-reporter.ts'],
    fileParallelism: true,
    maxWorkers: 2,
    projects: [
      { test: { ...shared, name: 'rules', include: ['src/**/*.spec.ts'], isolate: false } },
      {
        test: {
          ...shared,
          name: 'rooms',
          include: ['test/integration/**/*.int-spec.ts'],
          globalSetup: ['./test/support/global-setup.ts'],
          isolate: false,
        },
      },
      {
        test: {
          ...shared,
          name: 'office',
          include: ['test/e2e/**/*.e2e-spec.ts'],
          globalSetup: ['./test/support/global-setup.ts'],
          testTimeout: 120_000,
        },
      },
      {
        test: {
          ...shared,
          name: 'faults',
          include: FAULTS.map((name) => `test/faults/${name}.faults-spec.ts`),
          globalSetup: ['./test/support/global-setup.ts'],
          testTimeout: 300_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
