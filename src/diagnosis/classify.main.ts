import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { SystemClock } from '../platform/clock/system-clock.js';
import { classify, type Diagnosis } from './domain/classifier.js';
import { resetMs } from './domain/reset-time.js';

const FIXTURES = join(import.meta.dirname, '..', '..', '..', 'test', 'fixtures', 'provider-errors.jsonl');
const USAGE = 'usage: classify report [FILE] | batch FILE | explain FILE   (lines of {"id", "provider", "payload"}; - for stdin)';

interface Line {
  readonly id: unknown;
  readonly provider: string;
  readonly payload: string;
  /** Of fixtures only. */
  readonly class?: string;
  readonly code?: string;
  readonly why?: string;
}

function readLine(text: string, number: number): Line {
  let value: unknown;
  try {
    // Editors put a mark of the encoding before the first line.
    value = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    throw new Error(`line ${number} is no JSON`);
  }
  if (typeof value !== 'object' || value === null || !('payload' in value)) throw new Error(`line ${number} has no payload`);
  const { id = number, provider, payload } = value as Record<string, unknown>;
  return {
    ...value,
    id,
    provider: typeof provider === 'string' ? provider : '',
    payload: typeof payload === 'string' ? payload : JSON.stringify(payload),
  };
}

/** Calls `tell` for each line; answers how many could not be read. Those are said on stderr. */
async function forEachLine(file: string, tell: (line: Line, number: number) => void): Promise<number> {
  let bad = 0;
  let number = 0;
  const input = file === '-' ? process.stdin : createReadStream(file, 'utf8');
  for await (const text of createInterface({ input, crlfDelay: Infinity })) {
    number++;
    if (text.trim() === '') continue;
    try {
      tell(readLine(text, number), number);
    } catch (error) {
      bad++;
      process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    }
  }
  return bad;
}

const say = (text: string): void => void process.stdout.write(`${text}\n`);
const clock = new SystemClock();
const nowMs = (): number => clock.now().getTime();

const batch = (file: string): Promise<number> =>
  forEachLine(file, ({ id, provider, payload }) => {
    const { class: found, code, retryable, rule } = classify(provider, payload, nowMs());
    say(JSON.stringify({ id, class: found, code, retryable, rule }));
  });

const explain = (file: string): Promise<number> =>
  forEachLine(file, ({ id, provider, payload }) =>
    say(`${String(id)} (${provider || 'any provider'})\n${explanation(classify(provider, payload, nowMs()))}\n`),
  );

function explanation(diagnosis: Diagnosis): string {
  const { class: found, code, retryable, rule, confidence, matched, why, retryAfter } = diagnosis;
  return [
    `  ${found}, ${code}, ${retryable ? 'retryable' : 'not retryable'}`,
    `  decided by ${rule} (${confidence}): ${why}`,
    `  matched: ${matched.length === 0 ? 'nothing' : matched.join(', ')}`,
    ...(retryAfter === null ? [] : [`  limit ends ${new Date(resetMs(retryAfter, nowMs())).toISOString()}`]),
  ].join('\n');
}

/** How the fixtures come out, by provider, and every one that comes out wrong. Answers the number of dangerous and of unread ones. */
async function report(file: string): Promise<number> {
  const lines: Line[] = [];
  const unread = await forEachLine(file, (line, number) => {
    if (line.class === undefined) throw new Error(`line ${number} has no class to compare with`);
    lines.push(line);
  });
  const judged = lines.map((line) => ({
    line,
    terminal: line.class !== 'transient',
    found: classify(line.provider, line.payload, nowMs()),
  }));
  const dangerous = judged.filter(({ terminal, found }) => terminal && found.retryable);
  const missed = judged.filter(({ terminal, found }) => !terminal && !found.retryable);
  const miscoded = judged.filter(({ line, found }) => line.code !== found.code);
  const transient = judged.filter(({ terminal }) => !terminal).length;
  const share = (part: number, whole: number): string => (whole === 0 ? '-' : `${((100 * part) / whole).toFixed(1)} %`);
  say(`${judged.length} payloads, ${transient} transient`);
  say(`terminal called retryable: ${dangerous.length}`);
  say(`transient recognised: ${transient - missed.length} of ${transient} (${share(transient - missed.length, transient)})`);
  say(`codes right: ${judged.length - miscoded.length} of ${judged.length} (${share(judged.length - miscoded.length, judged.length)})`);
  for (const provider of [...new Set(lines.map((line) => line.provider))].toSorted()) {
    const own = judged.filter(({ line }) => line.provider === provider);
    const right = own.filter(({ line, found }) => line.code === found.code).length;
    say(`  ${provider.padEnd(20)} ${String(right).padStart(3)} of ${own.length}`);
  }
  const wrong = new Set([...dangerous, ...missed, ...miscoded]);
  for (const { line, found } of wrong) {
    say(`\n${String(line.id)}: should be ${line.class}, ${line.code} (${line.why ?? ''})\n${explanation(found)}`);
  }
  return dangerous.length + unread;
}

async function main([command, file]: readonly string[]): Promise<number> {
  if (command === 'report') return report(file ?? FIXTURES);
  if (command === 'batch' && file !== undefined) return batch(file);
  if (command === 'explain' && file !== undefined) return explain(file);
  process.stderr.write(`${USAGE}\n`);
  return 1;
}

// Whoever reads only the first lines has read enough.
process.stdout.on('error', () => process.exit());

main(process.argv.slice(2)).then(
  (problems) => {
    process.exitCode = problems > 0 ? 1 : 0;
  },
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  },
);
