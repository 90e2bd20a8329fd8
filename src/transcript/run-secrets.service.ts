import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { hideFromLogs } from '../platform/logging/redact.js';
import { Masker, NO_SECRETS, type Secret } from './domain/masking.js';

/** One attempt at a run: the next may begin before the processes of this one are gone. */
interface Attempt {
  readonly runId: string;
  readonly generation: number;
}

interface Held {
  readonly masker: Masker;
  release(): void;
}

const keyOf = ({ runId, generation }: Attempt): string => `${runId} ${generation}`;

/** What the processes of this server's runs were given and nobody is to read, as long as those run. */
@Injectable()
export class RunSecrets implements OnApplicationShutdown {
  private readonly held = new Map<string, Held>();

  /** Before the launch. From here on they are masked in the log, too. */
  hold(attempt: Attempt, secrets: readonly Secret[]): Masker {
    this.release(attempt);
    const masker = new Masker(secrets);
    if (!masker.hidesNothing) this.held.set(keyOf(attempt), { masker, release: hideFromLogs((line) => masker.mask(line)) });
    return masker;
  }

  /** For whoever stores or shows what an agent says by another way. Hides nothing for an attempt that is not here. */
  of(attempt: Attempt): Masker {
    return this.held.get(keyOf(attempt))?.masker ?? NO_SECRETS;
  }

  release(attempt: Attempt): void {
    this.held.get(keyOf(attempt))?.release();
    this.held.delete(keyOf(attempt));
  }

  onApplicationShutdown(): void {
    for (const held of this.held.values()) held.release();
    this.held.clear();
  }
}
