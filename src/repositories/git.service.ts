import { Injectable } from '@nestjs/common';
import pLimit from 'p-limit';
import { EXECUTION_MARKER } from '../execution/domain/agent-environment.js';
import { findProgram } from '../execution/process/find-program.js';
import { GatedProcess } from '../execution/process/gated-process.js';
import { signalGroup } from '../execution/process/process-group.js';
import { readProcess } from '../execution/process/process-table.js';
import { ProcessSupervision } from '../execution/supervisor/process-supervision.service.js';
import { Clock } from '../platform/clock/clock.js';
import { newId } from '../platform/ids.js';
import { storableText } from '../platform/text/storable.js';
import { gitEnvironment } from './domain/git-environment.js';
import { asEnvironment, readConfig, tame, type Override } from './domain/tame-config.js';
import type { AgentUser } from '../workspaces/agent-users.service.js';

/** Where a command is at home: what git finds there by itself is never looked for. */
export interface GitPlace {
  /** The repository's own folder, or that of one worktree inside it. Absolute. */
  readonly gitDir: string;
  readonly workTree?: string;
  readonly account: AgentUser;
}

export interface GitAsk {
  /** All in milliseconds. The command and its children are killed then. */
  readonly deadlineMs: number;
  /** More output than this is not read, and the command is killed: `cut`. */
  readonly maxBytes?: number;
  /** So much of the output is read past first. */
  readonly skipBytes?: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
  /** It writes: should the office die it is killed too, at the latest by the next start. */
  readonly writes?: boolean;
  /** With the person's own settings and keys. */
  readonly credentials?: boolean;
  readonly signal?: AbortSignal | undefined;
}

export interface GitAnswer {
  /** Null: a signal ended it. */
  readonly code: number | null;
  readonly stdout: Buffer;
  readonly cut: boolean;
  readonly late: boolean;
  /** The end of its stderr, at most 2 KiB, without passwords in addresses. */
  readonly said: string;
}

/** A command that did not do what it was for. `message` is for people. */
export class GitFailure extends Error {
  constructor(
    readonly what: string,
    readonly answer: GitAnswer,
  ) {
    super(`${what}: ${answer.late ? 'it took too long and was killed' : answer.said || `exit code ${answer.code}`}`);
    this.name = 'GitFailure';
  }
}

/** Of a command that was not even started. */
export const NO_ANSWER: GitAnswer = { code: null, stdout: Buffer.alloc(0), cut: false, late: false, said: '' };

const OUTPUT_BYTES = 4 * 1024 * 1024;
const CONFIG_BYTES = 1024 * 1024;
const CONFIG_MS = 10_000;
const SAID_BYTES = 2_048;
/** What an ended command has written is read by then, even if something it left behind holds the pipe. */
const DRAIN_MS = 1_000;
/** Commands that only read, at once on this server. */
const READERS = 6;

/**
 * Runs git: without a shell, as the workspace's user, with a deadline, in a process group that is ended with it, and so that
 * nothing a repository configures is run (hooks, filters, monitors, helpers, transports). See docs/security.md.
 */
@Injectable()
export class Git {
  private readonly reading = pLimit(READERS);

  constructor(
    private readonly supervision: ProcessSupervision,
    private readonly clock: Clock,
  ) {}

  /**
   * A repository whose configuration has been read and made harmless. What is found in it holds for the commands that
   * follow; ask anew for what is asked later.
   * @throws GitFailure when there is no repository, or its configuration cannot be read.
   */
  async open(place: GitPlace): Promise<OpenRepository> {
    const list = async (credentials: boolean): Promise<readonly Override[]> => {
      const asked = { deadlineMs: CONFIG_MS, maxBytes: CONFIG_BYTES, credentials };
      const answer = await this.run(place, ['config', '--list', '--show-scope', '-z', '--includes'], asked, tame([], false));
      if (answer.code !== 0 || answer.cut) throw new GitFailure('the configuration could not be read', answer);
      return tame(readConfig(answer.stdout.toString('utf8')), credentials);
    };
    const alone = await list(false);
    return new OpenRepository(place, async (args, asked) =>
      this.inTurn(asked, async () => this.run(place, args, asked, asked.credentials === true ? await list(true) : alone)),
    );
  }

  /**
   * The real path of the folder that all worktrees of a repository share. Says nothing of its configuration, and asks it nothing.
   * @throws GitFailure when there is no repository
   */
  async commonDirOf(place: GitPlace): Promise<string> {
    const args = ['rev-parse', '--path-format=absolute', '--git-common-dir'];
    const answer = await this.run(place, args, { deadlineMs: CONFIG_MS }, tame([], false));
    if (answer.code !== 0) throw new GitFailure('its folders could not be found', answer);
    return answer.stdout.toString('utf8').replace(/\n$/, '');
  }

  /** Any other program, the same way: as that user, with a deadline, ended with its group. */
  async program(name: string, args: readonly string[], account: AgentUser, asked: GitAsk): Promise<GitAnswer> {
    return this.inTurn(asked, () =>
      this.spawn(name, args, account, asked, gitEnvironment(process.env, { credentials: false, home: null })),
    );
  }

  private inTurn<T>(asked: GitAsk, work: () => Promise<T>): Promise<T> {
    return asked.writes === true ? work() : this.reading(work);
  }

  private run(place: GitPlace, args: readonly string[], asked: GitAsk, overrides: readonly Override[]): Promise<GitAnswer> {
    const { gitDir, workTree, account } = place;
    return this.spawn('git', args, account, asked, {
      ...gitEnvironment(process.env, { credentials: asked.credentials ?? false, home: account.home }),
      ...asEnvironment(overrides),
      GIT_DIR: gitDir,
      ...(workTree === undefined ? {} : { GIT_WORK_TREE: workTree }),
    });
  }

  private async spawn(
    name: string,
    args: readonly string[],
    { identity }: AgentUser,
    asked: GitAsk,
    env: Readonly<Record<string, string>>,
  ): Promise<GitAnswer> {
    const file = findProgram(name, env['PATH']);
    if (file === null) throw new GitFailure(`${name} is not installed on this host`, { ...NO_ANSWER, said: 'it is not on the PATH' });
    asked.signal?.throwIfAborted();
    const id = newId();
    const program = { argv: [file, ...args], cwd: '/', env: { ...env, ...asked.env, [EXECUTION_MARKER]: id }, identity };
    const child = await GatedProcess.start(program);
    try {
      if (asked.writes === true) {
        await this.supervision.register({ executionId: id, group: child.pid, startTicks: readProcess(child.pid)?.startTicks ?? null });
      }
      return await this.toItsEnd(child, asked);
    } finally {
      if (child.exit === null) signalGroup(child.pid, 'SIGKILL');
      child.release();
      if (asked.writes === true) this.supervision.unregister(id);
    }
  }

  private async toItsEnd(child: GatedProcess, asked: GitAsk): Promise<GitAnswer> {
    const { maxBytes = OUTPUT_BYTES, signal } = asked;
    const kept: Buffer[] = [];
    let skip = asked.skipBytes ?? 0;
    let room = maxBytes;
    let cut = false;
    let late = false;
    let said = Buffer.alloc(0);
    const kill = (): unknown => child.exit ?? signalGroup(child.pid, 'SIGKILL');
    child.stdout.on('data', (chunk: Buffer) => {
      const wanted = chunk.subarray(Math.min(skip, chunk.length));
      skip -= chunk.length - wanted.length;
      if (wanted.length > room) {
        cut = true;
        kill();
      }
      const fits = wanted.subarray(0, room);
      room -= fits.length;
      if (fits.length > 0) kept.push(fits);
    });
    child.stderr.on('data', (chunk: Buffer) => (said = Buffer.concat([said, chunk]).subarray(-SAID_BYTES)));
    const read = Promise.all([child.stdout, child.stderr].map((stream) => new Promise((resolve) => stream.once('close', resolve))));
    const deadline = this.clock.after(asked.deadlineMs, () => {
      late = true;
      kill();
    });
    signal?.addEventListener('abort', kill, { once: true });
    try {
      child.go();
      child.stdin.end(asked.input ?? '');
      const exit = await child.exited;
      // What it left behind must neither go on nor hold its pipes.
      signalGroup(child.pid, 'SIGKILL');
      const enough = new AbortController();
      await Promise.race([read, this.clock.sleep(DRAIN_MS, enough.signal)]);
      enough.abort();
      signal?.throwIfAborted();
      return {
        code: exit.code,
        stdout: Buffer.concat(kept),
        cut,
        late,
        said: withoutPasswords(storableText(said.toString('utf8')).trim()),
      };
    } finally {
      deadline.cancel();
      signal?.removeEventListener('abort', kill);
    }
  }
}

/** One repository, or one worktree of it, ready for commands. */
export class OpenRepository {
  constructor(
    readonly place: GitPlace,
    private readonly command: (args: readonly string[], asked: GitAsk) => Promise<GitAnswer>,
  ) {}

  /** Any answer, whatever its exit code. */
  ask(args: readonly string[], asked: GitAsk): Promise<GitAnswer> {
    return this.command(args, asked);
  }

  /** @throws GitFailure unless it ended well, with all of its output read. */
  async must(what: string, args: readonly string[], asked: GitAsk): Promise<Buffer> {
    const answer = await this.command(args, asked);
    if (answer.code !== 0 || answer.late || answer.cut) throw new GitFailure(what, answer);
    return answer.stdout;
  }

  /** The first line of its output. */
  async line(what: string, args: readonly string[], asked: GitAsk): Promise<string> {
    return (await this.must(what, args, asked)).toString('utf8').split('\n')[0]!.trim();
  }
}

/** `https://user:password@host` loses what stands before the `@`. */
export const withoutPasswords = (text: string): string => text.replace(/(\w:\/\/)[^\s/@]+@/g, '$1');
