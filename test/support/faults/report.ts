import type pg from 'pg';

/** Every faults test begins from it; OFFICE_SEED repeats another. */
export const SEED = Number(process.env.OFFICE_SEED ?? 20_261_130);

/** One line that says what was done, for whoever wants to repeat it. */
export async function report(what: string, db: pg.Pool, facts: Readonly<Record<string, unknown>> = {}): Promise<void> {
  const { rows } = await db.query<{ runs: object | null; attempts: number; events: number }>(
    `select (select jsonb_object_agg(s.status, s.n) from (select status, count(*) as n from runs group by status) s) as runs,
            (select count(*)::int from run_attempts) as attempts, (select count(*)::int from office_events) as events`,
  );
  process.stdout.write(`${what}: ${JSON.stringify({ seed: SEED, ...rows[0], ...facts })}\n`);
}
