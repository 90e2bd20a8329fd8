import type { Readable } from 'node:stream';
import { FrameTooLarge, LineSplitter } from './line-splitter.js';

/** Why an agent's output is not being read at the moment. */
export type Hold = 'answer' | 'reader' | 'stdin';

export interface LineListener {
  /** One line; invalid UTF-8 has become U+FFFD. `bytes` is its length as it came. */
  line(text: string, bytes: number): void;
  tooLarge(head: string): void;
  /** Nothing more will come. After `tooLarge` it is not told. */
  end(): void;
}

/** An agent's stdout, line by line, in order, and only while nobody holds it: what is not read waits in the agent's pipe. */
export class StdoutLines {
  private readonly holds = new Set<Hold>();
  private readonly splitter: LineSplitter;
  private ended = false;
  private over = false;
  private pumping = false;
  private finish!: () => void;
  /** Nothing more will be read. */
  readonly done = new Promise<void>((resolve) => (this.finish = resolve));

  constructor(
    private readonly stream: Readable,
    limit: number,
    private readonly listener: LineListener,
  ) {
    this.splitter = new LineSplitter(limit);
    stream.on('data', (chunk: Buffer) => {
      this.splitter.push(chunk);
      this.pump();
    });
    const end = (): void => {
      this.ended = true;
      this.pump();
    };
    // A reset of the pipe is its end; the exit of the process says what happened.
    stream.on('end', end).on('close', end).on('error', end);
  }

  get held(): boolean {
    return this.holds.size > 0;
  }

  hold(why: Hold): void {
    this.holds.add(why);
    this.stream.pause();
  }

  release(why: Hold): void {
    if (this.holds.delete(why)) this.pump();
  }

  /** Reads no more, ever. */
  close(): void {
    this.over = true;
    this.finish();
    this.stream.destroy();
  }

  private pump(): void {
    if (this.pumping || this.over) return;
    this.pumping = true;
    try {
      while (!this.held && !this.over) {
        const line = this.splitter.next() ?? (this.ended ? this.splitter.rest() : null);
        if (line === null) break;
        this.listener.line(line.toString('utf8'), line.length);
      }
    } catch (error) {
      if (!(error instanceof FrameTooLarge)) throw error;
      this.close();
      this.listener.tooLarge(error.head);
    } finally {
      this.pumping = false;
    }
    if (this.held || this.over) return;
    if (!this.ended) {
      this.stream.resume();
      return;
    }
    this.over = true;
    this.finish();
    this.listener.end();
  }
}
