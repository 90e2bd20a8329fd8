/** What an agent is called in a comment: `@handle`. The database holds the same shape (agent_instances_handle_shape). */
export const HANDLE_SHAPE = /^[a-z0-9][a-z0-9_-]{0,59}$/;
const LONGEST = 60;

/** The handle a name suggests: `Ada Löwe` is `ada-lowe`. A name without a usable letter is `agent`. */
export function handleFrom(name: string): string {
  const plain = name.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase();
  const handle = plain.replaceAll(/[^a-z0-9_]+/g, '-').replaceAll(/^[-_]+|-+$/g, '');
  return cut(handle, LONGEST) || 'agent';
}

/** The first of `wanted`, `wanted-2`, `wanted-3`, … that nobody has, cut so that it keeps its shape. */
export function freeHandle(wanted: string, taken: ReadonlySet<string>): string {
  if (!taken.has(wanted)) return wanted;
  for (let n = 2; ; n++) {
    const suffix = `-${n}`;
    const handle = cut(wanted, LONGEST - suffix.length) + suffix;
    if (!taken.has(handle)) return handle;
  }
}

/** Every handle `freeHandle` may have to step over begins with this. */
export const handleStem = (wanted: string): string => cut(wanted, LONGEST - 10);

const cut = (handle: string, length: number): string => handle.slice(0, length).replace(/-+$/, '');
