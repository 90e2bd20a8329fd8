import { isRecord, type Update } from './frame.js';

const CONTENT = new Set(['agent_message_chunk', 'agent_thought_chunk', 'tool_call', 'tool_call_update', 'plan']);

export const kindOf = (update: Update): string | null => (typeof update['sessionUpdate'] === 'string' ? update['sessionUpdate'] : null);

/** The text of a message or thought chunk; null when its content is something else (an image, a resource). */
export function chunkText(update: Update): string | null {
  const content = update['content'];
  return isRecord(content) && content['type'] === 'text' && typeof content['text'] === 'string' ? content['text'] : null;
}

/**
 * Contract 5: what counts as the agent doing something, as opposed to bookkeeping (commands, mode, config, session info,
 * usage, extensions). A chunk of no characters says nothing and is none.
 */
export function isContent(update: Update): boolean {
  const kind = kindOf(update);
  if (kind === null || !CONTENT.has(kind)) return false;
  return !kind.endsWith('_chunk') || chunkText(update) !== '';
}

/** A count of used tokens above zero: no content, but proof that a model worked, so that a silent turn is not an empty one. */
export const showsUse = (update: Update): boolean =>
  kindOf(update) === 'usage_update' && typeof update['used'] === 'number' && update['used'] > 0;
