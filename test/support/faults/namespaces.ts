import { execFileSync } from 'node:child_process';

const ip = (...args: string[]): void => void execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'pipe'] });

/** Network namespaces of a test's own, each on a cable to this one that can be pulled. */
export class Namespaces {
  private constructor(
    private readonly mark: string,
    private readonly net: string,
    readonly count: number,
  ) {}

  /** Null where the machine does not let us. */
  static open(count: number): Namespaces | null {
    const made = new Namespaces(`of${process.pid % 100_000}`, `10.${100 + (process.pid % 100)}`, count);
    try {
      for (let n = 0; n < count; n++) made.make(n);
      return made;
    } catch {
      made.close();
      return null;
    }
  }

  get network(): string {
    return `${this.net}.0.0/16`;
  }

  name(n: number): string {
    return `${this.mark}n${n}`;
  }

  /** Of the namespace, and of this end of its cable. */
  address(n: number): string {
    return `${this.net}.${n}.2`;
  }
  gateway(n: number): string {
    return `${this.net}.${n}.1`;
  }

  pull(n: number): void {
    ip('link', 'set', this.cable(n), 'down');
  }

  plugIn(n: number): void {
    ip('link', 'set', this.cable(n), 'up');
  }

  close(): void {
    for (let n = 0; n < this.count; n++) {
      try {
        // Its end of the cable goes with it, and ours with that.
        ip('netns', 'del', this.name(n));
      } catch {
        // Never made.
      }
    }
  }

  private make(n: number): void {
    const [name, ours, theirs] = [this.name(n), this.cable(n), `${this.mark}c${n}`];
    ip('netns', 'add', name);
    ip('link', 'add', ours, 'type', 'veth', 'peer', 'name', theirs);
    ip('link', 'set', theirs, 'netns', name);
    ip('addr', 'add', `${this.gateway(n)}/24`, 'dev', ours);
    ip('link', 'set', ours, 'up');
    ip('-n', name, 'addr', 'add', `${this.address(n)}/24`, 'dev', theirs);
    ip('-n', name, 'link', 'set', theirs, 'up');
    ip('-n', name, 'link', 'set', 'lo', 'up');
    ip('-n', name, 'route', 'add', 'default', 'via', this.gateway(n));
  }

  private cable(n: number): string {
    return `${this.mark}h${n}`;
  }
}
