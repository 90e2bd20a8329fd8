import { Injectable } from '@nestjs/common';
import type { JwtService } from '@nestjs/jwt';
import { Clock } from '../platform/clock/clock.js';
import { OfficeSettings } from '../platform/config/office-settings.js';
import { isPlainObject } from '../platform/http/json-values.js';
import { isUuid } from '../platform/http/uuid.js';
import { AGENT_ROLES, CAPABILITIES } from './domain/capabilities.js';
import type { AgentRole, Capability } from './domain/capabilities.js';
import { allowedTasks, type RunIdentity } from './domain/run-access.js';
import { RunKeys } from './run-keys.js';

const ISSUER = 'agent-office';
const AUDIENCE = 'agent-office/runtime';
const LIFETIME_SEC = 4 * 3_600;
/** So long a run may still call after its own timeout: no run outlives its token. */
const BEYOND_TIMEOUT_SEC = 15 * 60;

/** Tokens whose signatures need no second look. */
const MOST_CHECKED = 1_000;

/** What a token is made of; a claimed run is one. */
export interface RunToMint {
  readonly runId: string;
  readonly generation: number;
  readonly workspaceId: string;
  readonly agentId: string;
  readonly taskId: string | null;
  readonly sessionId: string;
  readonly role: AgentRole;
  readonly capabilities: readonly Capability[];
}

/** Makes and reads runtime tokens. That its run still runs is for the database to say (`RunDoor`). */
@Injectable()
export class RunTokens {
  private readonly lifetimeSec: number;
  private readonly checked = new Map<string, RunIdentity>();

  constructor(
    private readonly keys: RunKeys,
    private readonly clock: Clock,
    { OFFICE_RUN_TIMEOUT_SEC: timeout }: OfficeSettings,
  ) {
    this.lifetimeSec = Math.max(LIFETIME_SEC, timeout + BEYOND_TIMEOUT_SEC);
  }

  mint(run: RunToMint): string {
    const { kid, jwt } = this.keys.signing;
    const iat = this.nowSec();
    const claims = {
      iat,
      exp: iat + this.lifetimeSec,
      run: run.runId,
      generation: run.generation,
      agent: run.agentId,
      task: run.taskId,
      workspace: run.workspaceId,
      session: run.sessionId,
      role: run.role,
      capabilities: run.capabilities,
      allowed_task_ids: allowedTasks(run.role, run.capabilities, run.taskId),
    };
    return jwt.sign(claims, { algorithm: 'HS256', keyid: kid, issuer: ISSUER, audience: AUDIENCE });
  }

  /** Null for whatever is not exactly a token of ours that has not expired. A signature that was good once stays so: only time is asked again. */
  read(token: string): RunIdentity | null {
    const known = this.checked.get(token);
    if (known !== undefined) return known.expiresAt > this.nowSec() ? known : null;
    const read = this.check(token);
    if (read === null) return null;
    if (this.checked.size >= MOST_CHECKED) this.checked.clear();
    this.checked.set(token, read);
    return read;
  }

  private check(token: string): RunIdentity | null {
    try {
      const key = this.keys.find(kidOf(this.keys.signing.jwt, token));
      if (key === null) return null;
      return identityIn(
        key.jwt.verify<Record<string, unknown>>(token, {
          algorithms: ['HS256'],
          issuer: ISSUER,
          audience: AUDIENCE,
          clockTimestamp: this.nowSec(),
        }),
      );
    } catch {
      return null;
    }
  }

  private nowSec(): number {
    return Math.floor(this.clock.now().getTime() / 1_000);
  }
}

const kidOf = (jwt: JwtService, token: string): unknown =>
  jwt.decode<{ header: { kid?: unknown } } | null>(token, { complete: true })?.header.kid;

/** A signature says that we wrote it, not that this version would: what does not look like it is none. */
function identityIn(claims: Record<string, unknown>): RunIdentity | null {
  const { run, generation, agent, task, workspace, session, role, capabilities, allowed_task_ids: tasks, exp } = claims;
  if (!isPlainObject(claims) || !Number.isSafeInteger(exp) || !Number.isSafeInteger(generation)) return null;
  if (!isUuid(run) || !isUuid(agent) || !isUuid(workspace) || !isUuid(session) || !(task === null || isUuid(task))) return null;
  if (!isOneOf(AGENT_ROLES, role) || !Array.isArray(capabilities) || !(tasks === '*' || Array.isArray(tasks))) return null;
  return {
    runId: run,
    generation: generation as number,
    workspaceId: workspace,
    agentId: agent,
    taskId: task,
    sessionId: session,
    role,
    capabilities: capabilities.filter((one): one is Capability => isOneOf(CAPABILITIES, one)),
    allowedTaskIds: tasks === '*' ? '*' : tasks.filter(isUuid),
    expiresAt: exp as number,
  };
}

const isOneOf = <Word extends string>(words: readonly Word[], value: unknown): value is Word => words.some((word) => word === value);
