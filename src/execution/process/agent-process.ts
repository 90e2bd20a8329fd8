import type { Clock } from '../../platform/clock/clock.js';
import { STDERR_TAIL_BYTES, type ProcessExit } from '../domain/error-payload.js';
import type { ProcessSupervision } from '../supervisor/process-supervision.service.js';
import type { AgentTree } from './agent-tree.js';
import { ByteTail } from './byte-tail.js';
import { GatedProcess, type Program } from './gated-process.js';
import { readProcess } from './process-table.js';
import { StdoutLines, type LineListener } from './stdout-lines.js';

export const MAX_FRAME_BYTES = 64 * 1024 * 1024;
const NOISE_BYTES = 16 * 1024;
const MAX_UNSENT_BYTES = 4 * 1024 * 1024;
/** After its exit a program's output is read for this long; what a child of it still holds is not waited for. */
const DRAIN_MS = 500;
const DRAIN_LOOK_MS = 25;

/** One agent process with its pipes, registered with the supervisor for as long as any of its tree may live. */
export class AgentProcess {
  readonly tree: AgentTree;
  readonly lines: StdoutLines;
  /** The leader has ended and what it wrote has been read. */
  readonly ended: Promise<ProcessExit>;
  private readonly stderr = new ByteTail(STDERR_TAIL_BYTES);
  private readonly noise = new ByteTail(NOISE_BYTES);
  private readonly stderrEnd: Promise<void>;

  private constructor(
    private readonly gated: GatedProcess,
    executionId: string,
    startTicks: number | null,
    listener: LineListener,
    private readonly clock: Clock,
    private readonly supervision: ProcessSupervision,
  ) {
    this.tree = { executionId, group: gated.pid, startTicks };
    gated.stderr.on('data', (chunk: Buffer) => this.stderr.push(chunk));
    this.stderrEnd = new Promise((resolve) => gated.stderr.once('close', resolve));
    this.lines = new StdoutLines(gated.stdout, MAX_FRAME_BYTES, listener);
    this.ended = this.drain();
  }

  /** Makes the process and waits at its gate; nothing of the agent runs yet. Rejects when the system cannot. */
  static async prepare(
    program: Program,
    executionId: string,
    listener: LineListener,
    clock: Clock,
    supervision: ProcessSupervision,
  ): Promise<AgentProcess> {
    const gated = await GatedProcess.start(program);
    const row = readProcess(gated.pid);
    return new AgentProcess(gated, executionId, row?.startTicks ?? null, listener, clock, supervision);
  }

  get exit(): ProcessExit | null {
    return this.gated.exit;
  }

  /** The leader has ended; its output may not have been read. */
  get exited(): Promise<ProcessExit> {
    return this.gated.exited;
  }

  get stdin(): GatedProcess['stdin'] {
    return this.gated.stdin;
  }

  get stderrTail(): string {
    return this.stderr.text;
  }

  /** The last lines of its stdout that were no protocol. */
  get stdoutNoise(): string {
    return this.noise.text;
  }

  /** Resolves once the supervisor knows of it. Rejects when it cannot be known, and then it must not start. */
  register(): Promise<void> {
    return this.supervision.register(this.tree);
  }

  go(): void {
    this.gated.go();
  }

  keepNoise(line: string): void {
    this.noise.push(Buffer.from(`${line.slice(0, NOISE_BYTES)}\n`));
  }

  /** An agent that asks and asks but reads no answer is not listened to until it does. */
  heedUnsent(): void {
    if (this.stdin.destroyed || this.stdin.writableLength <= MAX_UNSENT_BYTES) return;
    this.lines.hold('stdin');
    const release = (): void => {
      this.stdin.off('drain', release).off('close', release);
      this.lines.release('stdin');
    };
    this.stdin.on('drain', release).on('close', release);
  }

  /** No process of the tree is left. */
  forget(): void {
    this.lines.close();
    this.gated.release();
    this.supervision.unregister(this.tree.executionId);
  }

  private async drain(): Promise<ProcessExit> {
    const exit = await this.gated.exited;
    let read = false;
    void Promise.all([this.lines.done, this.stderrEnd]).then(() => (read = true));
    // Output that a slow reader holds back is not lost: the time runs only while we read.
    for (let waited = 0; !read && waited < DRAIN_MS;) {
      await Promise.race([Promise.all([this.lines.done, this.stderrEnd]), this.clock.sleep(DRAIN_LOOK_MS)]);
      if (!this.lines.held) waited += DRAIN_LOOK_MS;
    }
    return exit;
  }
}
