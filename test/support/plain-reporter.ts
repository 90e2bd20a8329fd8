import type { Reporter, TestModule } from 'vitest/node';

/** Ends the run with the one line that CI reads: `N passed, N failed, N skipped`. */
export default class PlainReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const count = { passed: 0, failed: errors.length, skipped: 0 };
    for (const module of modules) {
      const states = [...module.children.allTests()].map((test) => test.result().state);
      for (const state of states) count[state === 'passed' || state === 'failed' ? state : 'skipped']++;
      // A file that did not load, or whose hooks broke, has no failed test to show for it.
      if (module.state() === 'failed' && !states.includes('failed')) count.failed++;
    }
    process.stdout.write(`\n${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped\n`);
  }
}
