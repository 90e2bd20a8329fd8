import type { Reporter, TestModule } from 'vitest/node';

/** Names every test that needed its second try (see `retry`), and ends the run with the one line that CI reads. */
export default class PlainReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const count = { passed: 0, failed: errors.length, skipped: 0 };
    for (const module of modules) {
      const states = [...module.children.allTests()].map((test) => {
        if (test.diagnostic()?.flaky) process.stdout.write(`\nPASSED ONLY AT THE SECOND TRY: ${test.fullName}\n`);
        return test.result().state;
      });
      for (const state of states) count[state === 'passed' || state === 'failed' ? state : 'skipped']++;
      // A file that did not load, or whose hooks broke, has no failed test to show for it.
      if (module.state() === 'failed' && !states.includes('failed')) count.failed++;
    }
    process.stdout.write(`\n${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped\n`);
  }
}
