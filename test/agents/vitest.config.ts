import { defineConfig } from 'vitest/config';

/** The office with real agents and a model server of our own; `npm run test:agents` installs them and builds first. */
export default defineConfig({
  test: {
    include:
      process.env['REAL_AGENTS'] === 'all' ? ['test/agents/*.e2e-spec.ts', 'test/agents/all/*.e2e-spec.ts'] : ['test/agents/*.e2e-spec.ts'],
    globalSetup: ['./test/support/global-setup.ts'],
    reporters: ['default', './test/support/plain-reporter.ts'],
    pool: 'forks',
    maxWorkers: 2,
    // A test is mostly waiting for an agent.
    sequence: { concurrent: true },
    maxConcurrency: 3,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
