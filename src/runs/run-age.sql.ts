/** Where a retry is older than this, counted from when it could first have run, it is given up (contract 4, `run_too_old`). */
const MOST_AGE_SEC = 2 * 3_600;

/**
 * Seconds since the run could have run: since it was asked for, a person last asked for it, or the last pause, stop, hold or
 * outage that kept it waiting ended. `r` is the run, `a` its agent, `w` its workspace; `host` and `lease` are placeholders of the
 * host that asks and of the lease in seconds: a host that has not been seen for so long is only just coming back.
 */
const ageSql = (host: string, lease: string): string => `extract(epoch from now() - greatest(
  r.requested_at, a.unblocked_at, w.unblocked_at,
  (select case when ah.last_seen_at < now() - make_interval(secs => ${lease}) then now() else ah.resumed_at end
     from hosts ah where ah.id = ${host}),
  (select max(aq.requested_at) from wake_requests aq where aq.run_id = r.id and aq.wake_class = 0),
  (select max(ae.ended_at) from provider_holds ae where ae.workspace_id = r.workspace_id and ae.adapter = a.adapter
      and ae.ended_at > r.requested_at and ae.credential = office_credential(a.adapter_config))))::float8`;

/** A case, so that nothing of it is computed for a run that is no retry. */
export const tooOldSql = (host: string, lease: string): string =>
  `case when r.status = 'scheduled_retry' and r.retry_count > 0 then ${ageSql(host, lease)} > ${MOST_AGE_SEC} else false end`;
