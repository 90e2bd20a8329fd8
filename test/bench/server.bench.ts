import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RealServer } from '../support/real-server.js';
import type { Bench, BenchPlace, Figure } from './figures.js';

const rssMb = (pid: number): number => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024;

/** The built program: how soon it is there, and what it weighs when nothing happens. */
export const serverBench: Bench = {
  name: 'server',
  async run({ size }: BenchPlace): Promise<Figure[]> {
    const home = mkdtempSync(join(tmpdir(), 'office-bench-'));
    try {
      const began = performance.now();
      const server = await RealServer.start({ home });
      const first = performance.now() - began;
      await server.end('SIGTERM');
      const again = performance.now();
      await server.boot();
      const second = performance.now() - again;
      // What start-up left is collected by then.
      await new Promise((resolve) => setTimeout(resolve, Math.min(10_000, 100_000 * size)));
      const memory = rssMb(server.pid);
      await server.end('SIGTERM');
      return [
        { what: 'cold start, new data dir', ours: first / 1_000, unit: 's', target: 'under 10 s' },
        { what: 'cold start, existing data dir', ours: second / 1_000, unit: 's', target: 'under 4 s' },
        { what: 'idle memory (without PostgreSQL)', ours: memory, unit: 'MB', target: 'under 150 MB' },
      ];
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  },
};
