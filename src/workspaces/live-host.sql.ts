/** Whether the host `h` is there: seen within a lease, by the database's clock. `leaseSec` is a placeholder. */
export const liveHostSql = (leaseSec: string, h = 'h'): string => `${h}.last_seen_at > now() - make_interval(secs => ${leaseSec})`;
