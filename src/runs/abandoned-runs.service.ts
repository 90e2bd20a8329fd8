import { Injectable } from '@nestjs/common';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import type { FencedRun } from './fenced-run.js';

const FIELDS = `id as "runId", generation, workspace_id as "workspaceId", agent_id as "agentId", task_id as "taskId", session_id as "sessionId"`;
const BATCH = 200;

/** Finds running runs that nobody runs any more. Finding changes nothing; the settlement guards itself. */
@Injectable()
export class AbandonedRuns {
  constructor(private readonly unitOfWork: UnitOfWork) {}

  /** Of this host, from before it was started: nobody can be running them (the data dir is locked). */
  ofEarlierBoots(hostId: string, bootId: string): Promise<FencedRun[]> {
    return this.unitOfWork.read(
      `select ${FIELDS} from runs where status = 'running' and lease_host_id = $1 and lease_boot_id <> $2 order by id limit ${BATCH}`,
      [hostId, bootId],
    );
  }

  /** Of other hosts, whose lease has ended by the database's clock. */
  byOtherHosts(hostId: string): Promise<FencedRun[]> {
    return this.unitOfWork.read(
      `select ${FIELDS} from runs where status = 'running' and lease_host_id <> $1 and lease_expires_at < now() order by id limit ${BATCH}`,
      [hostId],
    );
  }

  ofRuns(runIds: readonly string[]): Promise<FencedRun[]> {
    return this.unitOfWork.read(`select ${FIELDS} from runs where status = 'running' and id = any($1::uuid[]) order by id limit ${BATCH}`, [
      runIds,
    ]);
  }
}
