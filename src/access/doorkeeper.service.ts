import { Injectable } from '@nestjs/common';
import { AccessRepository } from './access.repository.js';
import type { Person } from './call.js';
import { judge } from './domain/verdict.js';
import type { RowKind } from './domain/route-access.js';

/** The guard's questions for doors that are no routes. Asked anew each time, as there. */
@Injectable()
export class Doorkeeper {
  constructor(private readonly access: AccessRepository) {}

  /** Whose access token this is; null when it is nobody's. */
  identify(token: string): Promise<Person | null> {
    return this.access.personOf(token);
  }

  /** The workspace of a row the person may read; null when there is no such row, or not for them. */
  async workspaceOfReadable(person: Person, kind: RowKind, id: string): Promise<string | null> {
    const standing = await this.access.standing(person.userId, kind, id);
    const verdict = judge(
      { who: 'member', row: { kind, param: 'id' } },
      { method: 'GET', fromThisMachine: false, person, role: standing?.role ?? null },
    );
    return verdict === 'allowed' && standing !== null ? standing.workspaceId : null;
  }
}
