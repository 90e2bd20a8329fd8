import type { MiddleCut } from '../../execution/domain/cut-text.js';

export const ENTRY_KINDS = ['prompt', 'message', 'thought', 'tool', 'plan', 'permission', 'notice'] as const;
export type EntryKind = (typeof ENTRY_KINDS)[number];

const KIB = 1024;

/** What is kept of one entry: texts over 256 KiB by their head and tail, with the full length between. */
export const ENTRY_CUT: MiddleCut = { whole: 256 * KIB, head: 192 * KIB, tail: 60 * KIB };

/** Beyond either, tools and thoughts of a run are kept without their bodies, and marked. */
export const RUN_CAPS = { bytes: 64 * KIB * KIB, entries: 50_000 } as const;

/** One entry as it is to be written. Texts are storable and masked. */
export interface EntryWrite {
  /** 0 for the first entry of this run's attempt. */
  readonly place: number;
  /** It has not been written before. */
  readonly isNew: boolean;
  readonly kind: EntryKind;
  readonly acpId: string | null;
  readonly title: string | null;
  readonly status: string | null;
  /** Null: what is there stays, with its length. Never of a new entry. */
  readonly body: string | null;
  /** Full length of what it was made of, in bytes of UTF-8. */
  readonly bytes: number;
  readonly truncated: boolean;
}
