import { fingerprint } from '../../platform/text/fingerprint.js';
import { isRecord } from '../../execution/domain/frame.js';

/** What is shown of the things ACP carries: text, with `[…]` for whatever is none. Neither masked nor cut. */

type Fields = Readonly<Record<string, unknown>>;

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/** A content block of a message, a thought or a tool. Of what is no text there is its kind, size and SHA-256. */
export function blockText(block: unknown): string {
  if (!isRecord(block)) return '';
  switch (block['type']) {
    case 'text':
      return text(block['text']);
    case 'image':
    case 'audio':
      return binary(String(block['type']), block['mimeType'], text(block['data']));
    case 'resource_link':
      return `[resource ${text(block['uri'])}]`;
    case 'resource': {
      const resource: Fields = isRecord(block['resource']) ? block['resource'] : {};
      if (typeof resource['text'] === 'string') return `[resource ${text(resource['uri'])}]\n${resource['text']}`;
      return binary(`resource ${text(resource['uri'])}`, resource['mimeType'], text(resource['blob']));
    }
    default:
      return `[${text(block['type']) || 'content'}]`;
  }
}

function binary(what: string, mimeType: unknown, base64: string): string {
  const data = Buffer.from(base64, 'base64');
  const hash = fingerprint(data).slice(0, 16);
  return `[${what} ${text(mimeType) || 'of unknown type'}, ${data.length} bytes, sha256 ${hash}]`;
}

const prefixed = (prefix: string, value: string): string => value.replace(/^/gm, prefix);

function diffText(part: Fields): string {
  const [before, after] = [text(part['oldText']), text(part['newText'])];
  return [
    `[change of ${text(part['path'])}]`,
    ...(before === '' ? [] : [prefixed('- ', before)]),
    ...(after === '' ? [] : [prefixed('+ ', after)]),
  ].join('\n');
}

function partText(part: unknown): string {
  if (!isRecord(part)) return '';
  if (part['type'] === 'content') return blockText(part['content']);
  if (part['type'] === 'diff') return diffText(part);
  if (part['type'] === 'terminal') return `[terminal ${text(part['terminalId'])}]`;
  return `[${text(part['type']) || 'content'}]`;
}

const json = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || value === '' || (typeof value === 'object' && Object.keys(value).length === 0);

/** What a tool call (or its update) says it was given; null when it says nothing of that. */
export function toolInput({ rawInput, locations }: Fields): string | null {
  if (!isEmpty(rawInput)) return json(rawInput);
  if (!Array.isArray(locations) || locations.length === 0) return null;
  return locations.map((place) => (isRecord(place) ? `[at ${text(place['path'])}${lineOf(place)}]` : '')).join('\n');
}

const lineOf = ({ line }: Fields): string => (typeof line === 'number' ? `:${line}` : '');

/**
 * What a tool call says came of it; null when it says nothing of that. Most agents send the same thing as content and raw: the
 * content is what they want shown, so the raw output counts only where there is none.
 */
export function toolOutput({ content, rawOutput }: Fields): string | null {
  const shown = Array.isArray(content) ? content.map(partText).filter((part) => part !== '') : [];
  if (shown.length > 0) return shown.join('\n');
  return isEmpty(rawOutput) ? null : json(rawOutput);
}

const MARKS: Readonly<Record<string, string>> = { completed: '[x]', in_progress: '[>]' };

export function planText(update: Fields): string {
  const entries = Array.isArray(update['entries']) ? update['entries'].filter(isRecord) : [];
  return entries.map(({ status, content }) => `${MARKS[text(status)] ?? '[ ]'} ${text(content)}`).join('\n');
}

export function permissionText(request: Fields): string {
  const call: Fields = isRecord(request['toolCall']) ? request['toolCall'] : {};
  const options = Array.isArray(request['options']) ? request['options'].filter(isRecord) : [];
  const asked = toolInput(call) ?? toolOutput(call);
  return [...(asked === null ? [] : [asked]), ...options.map(({ name, kind }) => `- ${text(name)} (${text(kind)})`)].join('\n');
}
