import { Injectable, Logger } from '@nestjs/common';
import type { Counter } from 'prom-client';
import { Clock } from '../platform/clock/clock.js';
import { isPassing, isUnavailable } from '../platform/database/sqlstate.js';
import type { Tx } from '../platform/database/tx.js';
import { Metrics } from '../platform/metrics/metrics.js';
import { RunTranscript } from './run-transcript.js';
import { TranscriptWriter, type TranscribedRun } from './transcript-writer.js';

/** What a deletion of a task takes with it at once; what is left of a longer one goes in batches, unseen. */
const AT_ONCE = 20_000;

/** The transcripts' face towards the rooms above. */
@Injectable()
export class Transcripts {
  private readonly logger = new Logger(Transcripts.name);
  private readonly refused: Counter<'why'>;

  constructor(
    private readonly writer: TranscriptWriter,
    private readonly clock: Clock,
    metrics: Metrics,
  ) {
    this.refused = metrics.counter({
      name: 'office_transcript_refused_total',
      help: 'Batches of transcripts that were not written: the run was not this server’s any more (stale), or a mistake (failed).',
      labels: ['why'],
    });
  }

  /** `untilHeard` repeats its work while the database is away, and throws that when it is hopeless. */
  open(run: TranscribedRun, untilHeard: <T>(work: () => Promise<T>) => Promise<T>): RunTranscript {
    return new RunTranscript(run, {
      clock: this.clock,
      write: (batch) => untilHeard(() => this.writer.write(batch)),
      isHopeless: (error) => isUnavailable(error) || isPassing(error),
      refused: (error) => {
        this.refused.inc({ why: error === null ? 'stale' : 'failed' });
        const names = { run_id: run.runId, generation: run.generation, workspace_id: run.workspaceId };
        if (error === null) this.logger.warn(names, 'transcript belongs to somebody else by now');
        else this.logger.error({ ...names, err: error }, 'part of a transcript could not be written');
      },
    });
  }

  /**
   * The task is deleted. From here on nothing is written to its transcripts, whoever still talks, and nobody reads them. Part of the
   * caller's transaction, after the runs were asked to stop.
   */
  async removeOfTask(tx: Tx, taskId: string): Promise<void> {
    await tx.query(
      `insert into session_transcripts as t (session_id, workspace_id, removed_at)
       select s.id, s.workspace_id, now() from task_sessions s where s.workspace_id = $1 and s.task_id = $2 order by s.id
       on conflict (session_id) do update set removed_at = now()`,
      [tx.workspaceId, taskId],
    );
    await tx.query(
      `delete from session_entries e using (
         select o.session_id, o.seq from task_sessions s join session_entries o on o.session_id = s.id
          where s.workspace_id = $1 and s.task_id = $2 limit ${AT_ONCE}) gone
        where e.session_id = gone.session_id and e.seq = gone.seq`,
      [tx.workspaceId, taskId],
    );
  }
}
