import type { ExecutionEvent } from '../execution/agent-runtime.js';
import type { Clock } from '../platform/clock/clock.js';
import { TranscriptDraft } from './domain/draft.js';
import type { Masker } from './domain/masking.js';
import type { TranscribedRun, TranscriptBatch, Written } from './transcript-writer.js';

/** A crash may cost a quarter of a second of talk; what is left of it is for the write. */
const BATCH_MS = 150;
const BATCH_BYTES = 64 * 1024;
/** With this much unwritten no more is taken; what then piles up before us holds the agent itself at 8 MiB. */
const ENOUGH_BYTES = 1024 * 1024;

export interface TranscriptParts {
  readonly clock: Clock;
  /** Says it until it is heard; rejects when that is hopeless. */
  write(batch: TranscriptBatch): Promise<Written>;
  /** A batch was not taken: somebody else has the run, or (`error`) a mistake of ours, by which it is lost. */
  refused(error: unknown): void;
  /** True when the server has to go without having been heard: nothing may be settled then. */
  isHopeless(error: unknown): boolean;
}

/** Writes down what one attempt at a run is told, says and does, a batch at a time, one batch after the other. */
export class RunTranscript {
  private readonly draft = new TranscriptDraft();
  private batches = 0;
  private writing: Promise<void> | null = null;
  private timer: { cancel(): void } | null = null;
  private isStale = false;
  private hopeless: { readonly error: unknown } | null = null;

  constructor(
    private readonly run: TranscribedRun,
    private readonly parts: TranscriptParts,
  ) {}

  /** What is written from here on is masked so. */
  hide(masker: Masker): void {
    this.draft.hide(masker);
  }

  /**
   * Resolves when there is room for more: whoever waits for it before the next event holds the agent back, and loses nothing. A
   * mistake of ours costs the entry, never the run.
   */
  async take(event: ExecutionEvent): Promise<void> {
    if (this.isStale || this.hopeless !== null) return;
    try {
      this.draft.take(event);
    } catch (error) {
      this.parts.refused(error);
    }
    this.schedule();
    while (this.draft.unwritten >= ENOUGH_BYTES && this.writing !== null) await this.writing;
  }

  /** Writes the rest. Rejects only when the server has to go without the database: then the run must not be settled either. */
  async close(): Promise<void> {
    this.timer?.cancel();
    while (this.writing !== null) await this.writing;
    while (this.draft.isDirty && !this.isStale && this.hopeless === null) await this.flush();
    if (this.hopeless !== null) throw this.hopeless.error;
  }

  private schedule(): void {
    if (!this.draft.isDirty || this.writing !== null || this.hopeless !== null) return;
    if (this.draft.unwritten >= BATCH_BYTES) {
      void this.flush();
      return;
    }
    this.timer ??= this.parts.clock.after(BATCH_MS, () => void this.flush());
  }

  private flush(): Promise<void> {
    this.timer?.cancel();
    this.timer = null;
    this.writing = this.writeBatch().then(() => {
      this.writing = null;
      this.schedule();
    });
    return this.writing;
  }

  private async writeBatch(): Promise<void> {
    try {
      const writes = this.draft.batch();
      const { entries, tools } = this.draft;
      const written = await this.parts.write({ run: this.run, number: ++this.batches, entries, tools, writes });
      if (written === 'written') return;
      this.isStale = true;
      this.parts.refused(null);
    } catch (error) {
      if (this.parts.isHopeless(error)) this.hopeless = { error };
      else this.parts.refused(error);
    }
  }
}
