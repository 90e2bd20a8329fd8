export const MEMORY_NAMESPACES = ['agents', 'tasks', 'projects', 'skills'] as const;
export type MemoryNamespace = (typeof MEMORY_NAMESPACES)[number];

export interface MemoryPlace {
  readonly namespace: MemoryNamespace;
  readonly ownerId: string;
  readonly key: string;
}

/** Characters; a key is for reading, not for keeping things in. */
export const LONGEST_KEY = 500;
const MOST_PARTS = 20;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/** Invisible, or made to look like something else; and what would be a path once somebody decodes it again. */
const UNWELCOME = /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\u2028\u2029\\]|%(?:2e|2f|5c|00)/iu;

/**
 * `workspaces/{ws}/memory/{agents|tasks|projects|skills}/{id}/{key…}` with its parts decoded, or what is wrong with it. A key is
 * kept in one spelling (NFC), so that two that look the same are the same.
 */
export function readMemoryPath(path: string): MemoryPlace | { readonly problem: string } {
  const [workspaces, workspaceId = '', memory, namespace, ownerId = '', ...parts] = path.split('/');
  if (workspaces !== 'workspaces' || memory !== 'memory' || !UUID.test(workspaceId.toLowerCase())) return { problem: SHAPE };
  const known = MEMORY_NAMESPACES.find((one) => one === namespace);
  if (known === undefined || !UUID.test(ownerId.toLowerCase()) || parts.length === 0) return { problem: SHAPE };
  if (parts.length > MOST_PARTS) return { problem: `a key has at most ${MOST_PARTS} parts` };
  if (!path.isWellFormed()) return { problem: 'a key is text' };
  if (parts.some((part) => part.trim() === '')) return { problem: 'a key has no empty parts' };
  if (parts.some(isTraversal)) return { problem: 'a key does not lead elsewhere' };
  if (parts.some((part) => UNWELCOME.test(part))) return { problem: 'a key has visible characters only, none of them \\ and none encoded' };
  const key = parts.join('/').normalize('NFC');
  if (Array.from(key).length > LONGEST_KEY) return { problem: `a key is at most ${LONGEST_KEY} characters` };
  return { namespace: known, ownerId: ownerId.toLowerCase(), key };
}

const SHAPE = 'must be workspaces/{id}/memory/{agents|tasks|projects|skills}/{id}/{key}';

/** Also of those that only look like it: what compares equal to dots and slashes is one. */
function isTraversal(part: string): boolean {
  const plain = part.normalize('NFKC').trim();
  return /^\.+$/.test(plain) || /[/\\]/.test(plain);
}

export const memoryPath = (workspaceId: string, { namespace, ownerId, key }: MemoryPlace): string =>
  `workspaces/${workspaceId}/memory/${namespace}/${ownerId}/${key}`;
