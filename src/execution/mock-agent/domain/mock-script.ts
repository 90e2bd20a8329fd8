/** Where the scripts stand in the `_meta` of `initialize`. There they have no limit of size, unlike in the environment. */
export const MOCK_SCRIPT_META = 'agent-office/mock-script';

/** One step: a single known key with its argument, and perhaps `when`. */
export type MockStep = Readonly<Record<string, unknown>>;

const STEPS = [
  'say',
  'think',
  'tool',
  'call',
  'write_file',
  'sleep_ms',
  'stderr',
  'fail',
  'raw',
  'update',
  'ask_permission',
  'exit',
  'hang',
  'ignore_sigterm',
  'spawn_child',
  'fail_launch',
  'fail_load',
  'stop',
] as const;
export type MockStepKind = (typeof STEPS)[number];

export class MockScriptError extends Error {
  override readonly name = 'MockScriptError';
}

export interface MockMoment {
  /** 1 + the retries of the run. */
  readonly attempt: number;
  /** Of the session, from 1. */
  readonly turn: number;
}

const FENCE = /^([ \t>]*)(`{3,}|~{3,})[ \t]*mock[ \t]*$/;

/**
 * The text of the first fenced block with info string `mock`, parsed; null when there is none. The block may be indented or
 * quoted. Text that is no JSON is answered as it stands, and refused by `readScript`.
 */
export function scriptIn(prompt: string): unknown {
  const lines = prompt.split(/\r?\n/);
  const open = lines.findIndex((line) => FENCE.test(line));
  if (open < 0) return null;
  const [, margin = '', fence = ''] = FENCE.exec(lines[open]!)!;
  const body: string[] = [];
  for (const line of lines.slice(open + 1)) {
    const text = line.startsWith(margin) ? line.slice(margin.length) : line;
    if (text.trim().startsWith(fence) && text.trim().replaceAll(fence[0]!, '') === '') break;
    body.push(text);
  }
  try {
    return JSON.parse(body.join('\n')) as unknown;
  } catch {
    return body.join('\n');
  }
}

/** The steps of a script that apply at this moment, with `{{name}}` expanded in every string. Throws `MockScriptError`. */
export function readScript(script: unknown, moment: MockMoment, names: Readonly<Record<string, string>>): MockStep[] {
  if (!Array.isArray(script)) throw new MockScriptError('a mock script is a JSON list of steps');
  return script.filter((step) => applies(readStep(step), moment)).map((step) => expand(step, names) as MockStep);
}

export function stepKind(step: MockStep): MockStepKind {
  const kind = STEPS.find((name) => name in step);
  if (kind === undefined) throw new MockScriptError(`unknown mock step: ${Object.keys(step).join(', ')}`);
  return kind;
}

function readStep(step: unknown): MockStep {
  if (typeof step !== 'object' || step === null || Array.isArray(step)) throw new MockScriptError('a mock step is a JSON object');
  stepKind(step as MockStep);
  return step as MockStep;
}

function applies(step: MockStep, moment: MockMoment): boolean {
  const { attempt, turn } = (step['when'] ?? {}) as { attempt?: unknown; turn?: unknown };
  return among(attempt, moment.attempt) && among(turn, moment.turn);
}

const among = (allowed: unknown, value: number): boolean => allowed === undefined || [allowed].flat().includes(value);

function expand(value: unknown, names: Readonly<Record<string, string>>): unknown {
  if (typeof value === 'string') return value.replace(/\{\{(\w+)\}\}/g, (whole, name: string) => names[name] ?? whole);
  if (Array.isArray(value)) return value.map((inner) => expand(inner, names));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, expand(inner, names)]));
}
