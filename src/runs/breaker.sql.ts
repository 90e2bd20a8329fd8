/** More failed runs of a pair than this within an hour, since a person last woke it, open its breaker (contract 3). */
const FAILURES_PER_HOUR = 6;

export interface PairSql {
  readonly agentId: string;
  /** Null, in SQL, where the other is not. */
  readonly taskId: string;
  readonly scope: string;
}

const ofPair = (alias: string, { agentId, taskId, scope }: PairSql): string =>
  `${alias}.agent_id = ${agentId} and (${alias}.task_id = ${taskId} or ${alias}.scope = ${scope})`;

const lateFailures = (pair: PairSql): string => `
  from runs bf
 where ${ofPair('bf', pair)} and bf.status in ('failed', 'timed_out') and bf.failure_kind = 'error'
   and bf.finished_at > now() - interval '1 hour'
   and bf.finished_at > coalesce((select max(bh.requested_at) from wake_requests bh
         where ${ofPair('bh', pair)} and bh.wake_class = 0 and bh.outcome in ('queued', 'coalesced', 'deduplicated')
           and bh.requested_at > now() - interval '1 hour'), '-infinity')`;

export const breakerOpenSql = (pair: PairSql): string => `exists (select ${lateFailures(pair)} offset ${FAILURES_PER_HOUR})`;

/** When the oldest of the failures that keep it open leaves the hour. */
export const breakerClosesSql = (pair: PairSql): string =>
  `(select bf.finished_at + interval '1 hour' ${lateFailures(pair)} order by bf.finished_at desc offset ${FAILURES_PER_HOUR} limit 1)`;
