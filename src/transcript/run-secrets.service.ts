import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { hideFromLogs } from '../platform/logging/redact.js';
import { Masker, NO_SECRETS, type Secret } from './domain/masking.js';

interface Held {
  readonly masker: Masker;
  release(): void;
}

/** What the processes of this server's runs were given and nobody is to read, as long as those run. */
@Injectable()
export class RunSecrets implements OnApplicationShutdown {
  private readonly held = new Map<string, Held>();

  /** Before the launch. From here on they are masked in the log, too. */
  hold(runId: string, secrets: readonly Secret[]): Masker {
    this.release(runId);
    const masker = new Masker(secrets);
    if (!masker.hidesNothing) this.held.set(runId, { masker, release: hideFromLogs((line) => masker.mask(line)) });
    return masker;
  }

  /** For whoever stores or shows what an agent says by another way. Hides nothing for a run that is not here. */
  of(runId: string): Masker {
    return this.held.get(runId)?.masker ?? NO_SECRETS;
  }

  release(runId: string): void {
    this.held.get(runId)?.release();
    this.held.delete(runId);
  }

  onApplicationShutdown(): void {
    for (const runId of this.held.keys()) this.release(runId);
  }
}
