import { makeWorkerUtils, run as runGraphile, Logger } from 'graphile-worker';
import pg from 'pg';

import { furnish } from './furnish.js';
import { CONCURRENCY, openOffice, queue } from './noop-office.js';
import { percentile, type Bench, type BenchPlace, type Figure } from './figures.js';

const silent = new Logger(() => () => undefined);

async function graphileThroughput(url: string, jobs: number): Promise<number> {
  const utils = await makeWorkerUtils({ connectionString: url, logger: silent });
  await utils.migrate();
  await utils.withPgClient((client) =>
    client.query(`select graphile_worker.add_job('noop', json_build_object('n', n)) from generate_series(1, ${jobs}) n`),
  );
  await utils.release();
  let done = 0;
  const began = performance.now();
  return new Promise((resolve, reject) => {
    const started = runGraphile({
      connectionString: url,
      concurrency: CONCURRENCY,
      noHandleSignals: true,
      logger: silent,
      taskList: {
        noop: () => {
          if (++done === jobs) {
            const seconds = (performance.now() - began) / 1_000;
            setImmediate(() => void started.then((runner) => runner.stop()).then(() => resolve(jobs / seconds), reject));
          }
        },
      },
    });
    started.catch(reject);
  });
}

async function graphileLatency(url: string, samples: number): Promise<number[]> {
  const utils = await makeWorkerUtils({ connectionString: url, logger: silent });
  await utils.migrate();
  const waits: number[] = [];
  let heard: () => void = () => undefined;
  const runner = await runGraphile({
    connectionString: url,
    concurrency: CONCURRENCY,
    noHandleSignals: true,
    logger: silent,
    taskList: { noop: () => heard() },
  });
  for (let n = 0; n < samples; n++) {
    const started = new Promise<number>((resolve) => {
      heard = () => resolve(performance.now());
    });
    const added = performance.now();
    await utils.addJob('noop', {});
    waits.push((await started) - added);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await runner.stop();
  await utils.release();
  return waits;
}

async function officeThroughput(url: string, workspaces: number, runs: number): Promise<number> {
  const pairs = await furnish(url, { workspaces, agents: 8, tasks: Math.ceil(runs / workspaces), concurrent: 8 });
  const office = await openOffice(url);
  const db = new pg.Client({ connectionString: url });
  await db.connect();
  try {
    await queue(office, pairs);
    await db.query('analyze');
    const began = performance.now();
    await office.start();
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, 10));
      if (office.runtime.launches < pairs.length) continue;
      const { rows } = await db.query<{ left: number }>(
        `select count(*)::int as left from runs where status in ('queued', 'running', 'scheduled_retry')`,
      );
      if (rows[0]!.left === 0) break;
    }
    return pairs.length / ((performance.now() - began) / 1_000);
  } finally {
    await office.close();
    await db.end();
  }
}

async function officeLatency(url: string, samples: number): Promise<number[]> {
  const pairs = await furnish(url, { workspaces: 1, agents: 8, tasks: samples, concurrent: 8 });
  const office = await openOffice(url);
  const waits: number[] = [];
  try {
    await office.start();
    for (const pair of pairs) {
      const launched = new Promise<number>((resolve) => {
        office.runtime.onLaunch = () => resolve(performance.now());
      });
      await queue(office, [pair]);
      const committed = performance.now();
      waits.push(Math.max(0, (await launched) - committed));
      // The next wake finds an idle office, as the baseline's does.
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    return waits;
  } finally {
    await office.close();
  }
}

export const queueBench: Bench = {
  name: 'queue',
  async run(place: BenchPlace): Promise<Figure[]> {
    const many = Math.round(6_000 * place.size);
    const few = Math.max(20, Math.round(500 * place.size));
    const baseline = await graphileThroughput(await place.emptyDatabase(), many);
    const wide = await officeThroughput(await place.database(), 16, many);
    const narrow = await officeThroughput(await place.database(), 1, Math.round(many / 2));
    const theirWaits = await graphileLatency(await place.emptyDatabase(), few);
    const ourWaits = await officeLatency(await place.database(), few);
    const of = 'graphile-worker';
    return [
      {
        what: 'runs/s, 16 workspaces, 8 at once',
        ours: wide,
        baseline: { of, value: baseline },
        unit: '/s',
        target: 'at least 0.5x, aim 1.0x',
      },
      { what: 'runs/s, one workspace', ours: narrow, baseline: { of, value: baseline }, unit: '/s', target: 'at least 200/s' },
      ...([0.5, 0.99] as const).map((part) => ({
        what: `commit to launch, p${part * 100}`,
        ours: percentile(ourWaits, part),
        baseline: { of, value: percentile(theirWaits, part) },
        unit: 'ms',
        target: 'at most 2x, aim 1.0x',
      })),
    ];
  },
};
