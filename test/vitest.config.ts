import { defineConfig } from 'vitest/config';

/** Three rings: rules (no I/O), rooms against real PostgreSQL, the office through its front door with real processes. */
const shared = { pool: 'forks', testTimeout: 30_000, hookTimeout: 60_000, root: '.' } as const;

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
    ],
  },
});
