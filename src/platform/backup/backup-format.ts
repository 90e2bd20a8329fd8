import { StartError } from '../errors/start-error.js';

/** First line of every backup; a later format has a higher number. */
export const MAGIC = 'agent-office backup 1';

/**
 * A backup is one gzip stream: the magic line, a header line of JSON, then for each table of the header its rows as PostgreSQL's
 * COPY text in frames (four bytes of length, the bytes; a frame of length 0 ends the table), then a footer line of JSON.
 */
export interface BackupHeader {
  /** When its snapshot was taken, by the database's clock. */
  readonly taken_at: string;
  readonly server_version: string;
  /** The schema: every migration that had been applied, oldest first. */
  readonly migrations: readonly string[];
  readonly tables: readonly { readonly name: string; readonly columns: readonly string[] }[];
}

/** What must have been read by the end. */
export interface BackupFooter {
  readonly rows: Readonly<Record<string, number>>;
}

export const lineOf = (value: object): Buffer => Buffer.from(`${JSON.stringify(value)}\n`);

export function frame(chunk: Buffer): Buffer {
  const length = Buffer.allocUnsafe(4);
  length.writeUInt32BE(chunk.length);
  return Buffer.concat([length, chunk]);
}
export const END_OF_TABLE = Buffer.alloc(4);

const LONGEST_LINE = 1024 * 1024;
const LONGEST_FRAME = 64 * 1024 * 1024;

/** Reads a backup from its decompressed bytes, whatever pieces they come in. Throws a `StartError` on what is none, or is cut off. */
export class BackupReader {
  private readonly chunks: AsyncIterator<Buffer>;
  private rest: Buffer = Buffer.alloc(0);

  constructor(bytes: AsyncIterable<Buffer>) {
    this.chunks = bytes[Symbol.asyncIterator]();
  }

  async header(): Promise<BackupHeader> {
    const magic = await this.line(MAGIC.length);
    if (magic !== MAGIC) throw damaged(`it begins with ${JSON.stringify(magic.slice(0, 40))}`);
    return JSON.parse(await this.line(LONGEST_LINE)) as BackupHeader;
  }

  /** The rows of one table, in pieces; the next part begins when they have all been taken. */
  async *table(): AsyncGenerator<Buffer> {
    for (;;) {
      const length = (await this.take(4)).readUInt32BE();
      if (length === 0) return;
      if (length > LONGEST_FRAME) throw damaged('a frame is too long');
      yield await this.take(length);
    }
  }

  async footer(): Promise<BackupFooter> {
    const footer = JSON.parse(await this.line(LONGEST_LINE)) as BackupFooter;
    if (this.rest.length > 0 || (await this.more())) throw damaged('something follows its end');
    return footer;
  }

  private async line(longest: number): Promise<string> {
    for (let searched = 0; ;) {
      const end = this.rest.indexOf(0x0a, searched);
      if (end >= 0) {
        const line = this.rest.toString('utf8', 0, end);
        this.rest = this.rest.subarray(end + 1);
        return line;
      }
      searched = this.rest.length;
      if (searched > longest) throw damaged('a line is too long');
      if (!(await this.more())) throw damaged('it ends too early');
    }
  }

  private async take(length: number): Promise<Buffer> {
    while (this.rest.length < length) if (!(await this.more())) throw damaged('it ends too early');
    const taken = this.rest.subarray(0, length);
    this.rest = this.rest.subarray(length);
    return taken;
  }

  private async more(): Promise<boolean> {
    let next: IteratorResult<Buffer>;
    try {
      next = await this.chunks.next();
    } catch (cause) {
      throw damaged((cause as Error).message, cause);
    }
    if (next.done === true) return false;
    this.rest = this.rest.length === 0 ? next.value : Buffer.concat([this.rest, next.value]);
    return true;
  }
}

const damaged = (why: string, cause?: unknown): StartError => new StartError(`This is no whole backup of an office: ${why}.`, { cause });
