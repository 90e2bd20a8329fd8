import 'reflect-metadata';
import { ConsoleLogger } from '@nestjs/common';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import pLimit from 'p-limit';
import pg from 'pg';
import { DataSource } from 'typeorm';
import { databaseOptions } from '../../src/database-options.js';
import { SystemClock } from '../../src/platform/clock/system-clock.js';
import { EmbeddedPostgres } from '../../src/platform/database/embedded/embedded-postgres.js';
import { claimBench } from './claim.bench.js';
import { classifyBench } from './classify.bench.js';
import { ratioOf, table, type Bench, type BenchPlace, type Figure } from './figures.js';
import { inboxBench } from './inbox.bench.js';
import { queueBench } from './queue.bench.js';
import { runtimeBench } from './runtime.bench.js';
import { realtimeBench } from './realtime.bench.js';
import { scaleBench } from './scale.bench.js';
import { serverBench } from './server.bench.js';
import { transcriptBench } from './transcript.bench.js';
import { turnBench } from './turn.bench.js';
import { watchdogBench } from './watchdog.bench.js';
import { worktreeBench } from './worktree.bench.js';

/** `npm run bench [-- name ...]`. OFFICE_BENCH_SIZE: 1 is the nightly size, 0.1 a tenth, 0.01 that of CI. Ratios are of one run on one PostgreSQL with its production settings. */
const BENCHES: readonly Bench[] = [
  serverBench,
  turnBench,
  queueBench,
  claimBench,
  realtimeBench,
  inboxBench,
  transcriptBench,
  worktreeBench,
  runtimeBench,
  classifyBench,
  watchdogBench,
  scaleBench,
];

const wanted = process.argv.slice(2);
const dataDir = mkdtempSync(join(tmpdir(), 'office-bench-db-'));
const postgres = await EmbeddedPostgres.start({
  dataDir,
  password: 'bench',
  clock: new SystemClock(),
  logger: new ConsoleLogger({ logLevels: ['error'] }),
});
const admin = new pg.Client({ connectionString: postgres.urlOf('postgres') });
await admin.connect();
let made = 0;
const place: BenchPlace = {
  size: Number(process.env.OFFICE_BENCH_SIZE ?? 1),
  async emptyDatabase() {
    const name = `bench_${++made}`;
    await admin.query(`create database ${name}`);
    return postgres.urlOf(name);
  },
  async database() {
    const url = await this.emptyDatabase();
    const dataSource = await new DataSource(databaseOptions(url, { poolSize: 1 })).initialize();
    await dataSource.runMigrations();
    await dataSource.destroy();
    return url;
  },
};

async function measured(bench: Bench): Promise<Figure[]> {
  const began = performance.now();
  const figures = await bench.run(place);
  process.stderr.write(`${bench.name}: ${((performance.now() - began) / 1_000).toFixed(1)} s\n`);
  return figures;
}

const chosen = BENCHES.filter(({ name }) => wanted.length === 0 || wanted.includes(name));
// One after the other, so that a figure is that of one bench. Below a twentieth nobody reads figures: then as many as there are
// cores, the longest first.
const limit = pLimit(place.size < 0.05 ? cpus().length : 1);
const running = new Map((place.size < 0.05 ? chosen.toReversed() : chosen).map((bench) => [bench, limit(measured, bench)]));
await Promise.all(running.values());
const figures = (await Promise.all(chosen.map((bench) => running.get(bench)!))).flat();
const broken = figures.filter((figure) => !Number.isFinite(figure.ours) || !Number.isFinite(ratioOf(figure) ?? 0));
await admin.end();
await postgres.stop();
rmSync(dataDir, { recursive: true, force: true });
process.stdout.write(`\n${table(figures)}\n`);
mkdirSync(join(import.meta.dirname, 'results'), { recursive: true });
writeFileSync(
  join(import.meta.dirname, 'results', 'latest.json'),
  JSON.stringify(
    {
      machine: {
        cpu: cpus()[0]?.model ?? 'unknown',
        cores: cpus().length,
        memory_gb: Math.round(totalmem() / 2 ** 30),
        node: process.version,
      },
      size: place.size,
      figures: figures.map((figure) => ({ ...figure, ratio: ratioOf(figure) })),
    },
    null,
    2,
  ),
);
if (broken.length > 0) {
  process.stderr.write(`no figures: ${broken.map(({ what }) => what).join('; ')}\n`);
  process.exitCode = 1;
}
