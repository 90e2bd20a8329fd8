import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { RealServer, waitFor } from '../support/real-server.js';
import type { Bench, BenchPlace, Figure } from './figures.js';

const TIMED_AGENT = join(import.meta.dirname, '..', 'support', 'agents', 'timed-agent.mjs');
const UPDATES = 20_000;
const MB = 1024;

const rssKb = (pid: number): number => Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]);

/** The built program with an agent that knows how long it took itself: what is left is ours. */
export const turnBench: Bench = {
  name: 'turn',
  async run(place: BenchPlace): Promise<Figure[]> {
    const databaseUrl = await place.database();
    const home = mkdtempSync(join(tmpdir(), 'office-bench-'));
    const server = await RealServer.start({ home, databaseUrl });
    const db = new pg.Client({ connectionString: databaseUrl });
    await db.connect();
    try {
      const { id: ws } = await server.must<{ id: string }>('POST /workspaces', { name: 'Bench' });
      /** Milliseconds from the agent's answer, and from its prompt, to the settlement of its run. */
      const turn = async (chunks: number): Promise<{ afterAnswer: number; whole: number }> => {
        const { id: agent } = await server.must<{ id: string }>(`POST /workspaces/${ws}/agents`, {
          name: 'Ada',
          role: 'worker',
          adapter: 'custom',
          adapter_config: { command: [process.execPath, TIMED_AGENT, String(chunks)] },
        });
        const { id: task } = await server.must<{ id: string }>(`POST /workspaces/${ws}/tasks`, {
          title: 'Talk',
          assignee_agent_instance_id: agent,
        });
        const finished = await waitFor(
          async () => {
            const { rows } = await db.query<{ at: number }>(
              `select extract(epoch from finished_at)::float8 * 1000 as at from runs where task_id = $1 and status = 'completed'`,
              [task],
            );
            return rows[0]?.at;
          },
          60_000,
          'the end of the turn',
        );
        const file = join(server.workDir, ws, 'tasks', task, 'turn.json');
        const { asked, answered } = JSON.parse(readFileSync(file, 'utf8')) as { asked: number; answered: number };
        return { afterAnswer: finished - answered, whole: finished - asked };
      };
      for (let warming = 0; warming < Math.max(1, Math.min(5, 60 * place.size)); warming++) await turn(1);
      const overheads: number[] = [];
      for (let one = 0; one < Math.max(3, Math.ceil(60 * place.size)); one++) overheads.push((await turn(1)).afterAnswer);
      overheads.sort((a, b) => a - b);
      const before = rssKb(server.pid);
      const { whole } = await turn(UPDATES);
      const grown = (rssKb(server.pid) - before) / MB;
      return [
        {
          what: 'answer of the agent to settled run, p50',
          ours: overheads[Math.floor(overheads.length / 2)]!,
          unit: 'ms',
          target: 'under 15 ms',
        },
        { what: `${UPDATES} updates in one turn, prompt to settled run`, ours: whole / 1_000, unit: 's', target: 'under 2 s' },
        { what: `memory that ${UPDATES} updates take at most`, ours: grown, unit: 'MB', target: 'under 64 MB' },
      ];
    } finally {
      await db.end();
      await server.dispose();
      rmSync(home, { recursive: true, force: true, maxRetries: 5 });
    }
  },
};
