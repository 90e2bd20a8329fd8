import { cutBytes, storableText } from '../../platform/text/storable.js';
import { isRecord } from './frame.js';

type Fields = Readonly<Record<string, unknown>>;

/** What an agent asks permission for, in the words a person reads and in those by which the same thing is known again. */
export interface PermissionAbout {
  /** One line, at most 200 bytes. */
  readonly title: string;
  /** ACP's kind of tool: `execute`, `edit`, … */
  readonly kind: string | null;
  /** JSON, at most 4 KiB. */
  readonly input: string | null;
  /** Equal for two requests exactly when they ask for the same thing. */
  readonly subject: string;
}

const TITLE_BYTES = 200;
const INPUT_BYTES = 4096;

/**
 * `incidental`: members of the tool's input that say nothing of what is done (ids, times, the model's own comment on it).
 * Where there is an input the title is not part of the subject: some models write it themselves.
 */
export function permissionAbout(request: Fields, incidental: readonly string[] = []): PermissionAbout {
  const tool = isRecord(request['toolCall']) ? request['toolCall'] : {};
  const kind = textOf(tool['kind']);
  const said = textOf(tool['title']) ?? kind ?? textOf(tool['toolCallId']) ?? 'something it does not name';
  const input = isRecord(tool['rawInput'])
    ? Object.fromEntries(Object.entries(tool['rawInput']).filter(([name]) => !incidental.includes(name)))
    : {};
  const told = Object.keys(input).length > 0;
  return {
    title: cutBytes(storableText(said).replaceAll(/\s+/g, ' ').trim(), TITLE_BYTES),
    kind: kind === null ? null : cutBytes(storableText(kind), TITLE_BYTES),
    input: told ? cutBytes(storableText(JSON.stringify(input)), INPUT_BYTES) : null,
    subject: JSON.stringify(inOrder(told ? { kind, input } : { kind, title: said, locations: tool['locations'] ?? null })),
  };
}

const textOf = (value: unknown): string | null => (typeof value === 'string' && value.trim() !== '' ? value : null);

/** Members by name, so that the same thing said in another order is the same. */
function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder);
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, part]) => [name, inOrder(part)]),
  );
}
