import type { ErrorCode } from './codes.js';

/**
 * How much one row proves. `exact`: a provider's own documented type or sentence. `high`: words that mean one thing.
 * `medium`: words that usually do. `low`: a guess good enough to name the failure, never to class it.
 */
export const CONFIDENCES = ['low', 'medium', 'high', 'exact'] as const;
export type Confidence = (typeof CONFIDENCES)[number];
export const rankOf = (confidence: Confidence): number => CONFIDENCES.indexOf(confidence);

export interface Matchers {
  /** One of these must occur. */
  readonly any?: readonly string[];
  /** All of these must occur: each is a phrase, or a list of which one must. */
  readonly all?: readonly (string | readonly string[])[];
  /** None of these may. */
  readonly none?: readonly string[];
  /** One of these HTTP statuses must be stated. */
  readonly status?: readonly number[];
  /** Nothing is said but the status: no body that could say something else. */
  readonly bare?: true;
  /** Holds although a limit is mentioned that nobody knows the length of: the row knows better. */
  readonly despiteLimit?: true;
  /** Holds although a word of lasting failures occurs: the row's own sentence has one. */
  readonly ownWords?: true;
  /** The end of a limit: told and near enough to wait for in the run itself, or not; or anything but told and far. */
  readonly ends?: 'near' | 'notNear' | 'notFar';
}

/** One row of a catalogue. Phrases are compared in their plain form (plain-text.ts); `*` at an end: the word may go on. */
export interface Signature {
  readonly id: string;
  readonly code: ErrorCode;
  readonly confidence: Confidence;
  readonly when: Matchers;
}

export const row = (id: string, code: ErrorCode, confidence: Confidence, when: Matchers): Signature => ({ id, code, confidence, when });

export const FAMILIES = ['claude', 'codex', 'copilot', 'gemini', 'opencode', 'amp', 'auggie'] as const;
export type Family = (typeof FAMILIES)[number];
