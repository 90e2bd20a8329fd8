/**
 * Instants as keys of cursors: microseconds since 1970, because milliseconds would lose what the order of rows sees, and because
 * whatever has the shape of a number is an instant, while not everything that has the shape of a date is one.
 */
/** As it goes over the wire: RFC 3339, milliseconds, UTC. */
export const wireInstant = (column: string): string => `to_char((${column}) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;

export const exactInstant = (column: string): string => `(extract(epoch from ${column}) * 1000000)::bigint`;

/** The instant that such a key stands for. */
export const instantOf = (placeholder: string): string => `(timestamptz 'epoch' + ${placeholder}::bigint * interval '1 microsecond')`;

/** Up to the year 5138. */
export const isExactInstant = (key: string): boolean => /^\d{1,17}$/.test(key);
