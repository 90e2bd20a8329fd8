import type { TestContext } from 'vitest';
import { cloneDatabase } from '../support/office-db.js';
import { RealServer } from '../support/real-server.js';
import { CodexDesk, type CodexOptions } from './codex-desk.js';

/** A running office that a file's tests share, each with a Codex of its own. */
export class CodexOffice {
  private constructor(
    readonly server: RealServer,
    readonly database: Awaited<ReturnType<typeof cloneDatabase>>,
  ) {}

  static async open(env: Readonly<Record<string, string>> = {}): Promise<CodexOffice> {
    const database = await cloneDatabase();
    return new CodexOffice(await RealServer.start({ databaseUrl: database.url, env }), database);
  }

  /** For this test alone; gone with it. */
  async hire({ onTestFinished }: Pick<TestContext, 'onTestFinished'>, options?: CodexOptions): Promise<CodexDesk> {
    const desk = await CodexDesk.open(this.server, options);
    onTestFinished(() => desk.close());
    return desk;
  }

  /** Throws when it has logged an error: none of what these agents do is one of the office's. */
  async close(): Promise<void> {
    await this.server.dispose();
    await this.database.drop();
    const errors = this.server.log.filter((line) => /"level":"(error|fatal)"/.test(line));
    if (errors.length > 0) throw new Error(errors.join('\n'));
  }
}
