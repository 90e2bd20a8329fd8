import { spawn, type ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { AgentTree } from '../process/agent-tree.js';
import { ByteTail } from '../process/byte-tail.js';
import type { FromSupervisor, ToSupervisor } from './supervisor-protocol.js';

/** The supervisor lives and watches, but says that nothing new may start; asking again would change nothing. */
export class RegistrationRefused extends Error {
  override readonly name = 'RegistrationRefused';
}

/** One running supervisor process, seen from the server. It neither keeps the server's event loop alive nor its terminal. */
export class SupervisorLink {
  readonly ended: Promise<string>;
  private readonly child: ChildProcess;
  private readonly waiting = new Map<number, { resolve: () => void; reject: (error: Error) => void }>();
  private readonly complaints = new ByteTail(4096);
  private number = 0;
  private over: string | null = null;

  constructor(entry: string, recordFile: string) {
    // Small heaps: it holds a few hundred bytes for each agent.
    const flags = ['--max-old-space-size=64', '--max-semi-space-size=1'];
    this.child = spawn(process.execPath, [...flags, entry, recordFile], { cwd: '/', env: {}, detached: true, stdio: 'pipe' });
    this.ended = new Promise((resolve) => {
      const end = (how: string): void => {
        this.over = how;
        for (const { reject } of this.waiting.values()) reject(new Error(`the supervisor ended: ${how}`));
        this.waiting.clear();
        resolve(how);
      };
      this.child.once('error', (error) => end(error.message));
      this.child.once('exit', (code, signal) => end(`${signal ?? `exit ${code}`} ${this.complaints.text}`.trim()));
    });
    if (this.child.pid === undefined) return;
    this.child.stderr!.on('data', (chunk: Buffer) => this.complaints.push(chunk));
    createInterface({ input: this.child.stdout! }).on('line', (line) => this.hear(JSON.parse(line) as FromSupervisor));
    for (const stream of this.child.stdio) (stream as Socket | null)?.on('error', () => undefined).unref();
    this.child.unref();
  }

  get pid(): number | undefined {
    return this.child.pid;
  }

  /** Resolves once all of them are on record. Rejects with `RegistrationRefused`, or when this supervisor has ended. */
  register(trees: readonly AgentTree[]): Promise<void> {
    if (this.over !== null) return Promise.reject(new Error(`the supervisor ended: ${this.over}`));
    const number = ++this.number;
    return new Promise((resolve, reject) => {
      this.waiting.set(number, { resolve, reject });
      this.say({ say: 'register', number, trees });
    });
  }

  say(message: ToSupervisor): void {
    if (this.child.pid !== undefined) this.child.stdin!.write(`${JSON.stringify(message)}\n`);
  }

  /** Tells it that the server is going; it ends what is left and exits. */
  leave(): void {
    this.child.stdin?.end();
  }

  kill(): void {
    this.child.kill('SIGKILL');
  }

  private hear({ say, number, problem }: FromSupervisor): void {
    const waiting = this.waiting.get(number);
    this.waiting.delete(number);
    if (say === 'refused') waiting?.reject(new RegistrationRefused('the lease of this host is over'));
    else if (say === 'unrecorded') waiting?.reject(new RegistrationRefused(`the supervisor cannot keep a record: ${problem}`));
    else waiting?.resolve();
  }
}
