import type { Evidence } from '../../execution/agent-runtime.js';
import type { Masker } from './masking.js';

/** From this length on a text may be one that was cut (the shortest cut is that of the noise on stdout, 16 KiB). */
const MAYBE_CUT_BYTES = 15 * 1024;

/** Of what an execution came to, everything that an agent wrote. */
interface Told {
  readonly payload?: string;
  readonly lastMessage?: string | null;
  readonly evidence?: Evidence | null;
}

/** The same result without the secrets. Ids and kinds stay: what is settled is decided by them. */
export function maskResult<Result extends object>(masker: Masker, result: Result): Result {
  if (masker.hidesNothing) return result;
  const { payload, lastMessage, evidence } = result as Told;
  return {
    ...result,
    ...(payload !== undefined && { payload: maskPayload(masker, payload) }),
    ...(typeof lastMessage === 'string' && { lastMessage: maskText(masker, lastMessage) }),
    ...(evidence != null && {
      evidence: {
        ...evidence,
        stderrTail: maskText(masker, evidence.stderrTail),
        stdoutNoise: maskText(masker, evidence.stdoutNoise),
        record: masker.maskJson(evidence.record) as Evidence['record'],
      },
    }),
  };
}

/** A text by an agent that may have been cut, a summary's ellipsis included. */
export function maskText(masker: Masker, text: string): string {
  if (text.endsWith('…')) return `${masker.maskCut(text.slice(0, -1))}…`;
  return Buffer.byteLength(text) >= MAYBE_CUT_BYTES ? masker.maskCut(text) : masker.mask(text);
}

/** Payloads of our own making hold cut texts in their fields; an agent's frame is one text. */
function maskPayload(masker: Masker, payload: string): string {
  const masked = maskText(masker, payload);
  if (!payload.startsWith('{"kind":')) return masked;
  try {
    const fields = Object.entries(JSON.parse(payload) as Record<string, unknown>);
    return JSON.stringify(
      Object.fromEntries(
        fields.map(([name, value]) => [name, typeof value === 'string' ? maskText(masker, value) : masker.maskJson(value)]),
      ),
    );
  } catch {
    return masked;
  }
}
