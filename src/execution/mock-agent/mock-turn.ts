import { methods, RequestError, type AgentContext, type PromptResponse } from '@agentclientprotocol/sdk';
import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { stepKind, type MockStep } from './domain/mock-script.js';
import type { MockSession } from './mock-session-store.js';

type Fields = Readonly<Record<string, unknown>>;

/** `fail`, `fail_launch` and `fail_load` carry a JSON-RPC error. */
export const scriptedError = ({ code, message, data }: Fields): RequestError =>
  new RequestError(typeof code === 'number' ? code : -32603, typeof message === 'string' ? message : 'Internal error', data);

/** One prompt: does the steps in order until one of them ends the turn. */
export class MockTurn {
  private tools = 0;

  constructor(
    private readonly session: MockSession,
    private readonly client: AgentContext,
    private readonly cancelled: AbortSignal,
  ) {}

  async play(steps: readonly MockStep[]): Promise<PromptResponse> {
    for (const step of steps) {
      if (this.cancelled.aborted) break;
      const ending = await this.perform(step);
      if (ending) return ending;
    }
    return { stopReason: this.cancelled.aborted ? 'cancelled' : 'end_turn' };
  }

  private async perform(step: MockStep): Promise<PromptResponse | undefined> {
    const kind = stepKind(step);
    const argument = step[kind];
    switch (kind) {
      case 'say':
        this.session.log.push({ role: 'agent', text: String(argument) });
        return this.update({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: String(argument) } });
      case 'think':
        return this.update({ sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text: String(argument) } });
      case 'tool':
        return this.useTool(String(argument), 'other', () => undefined);
      case 'call':
        return this.call(argument as Fields);
      case 'write_file':
        return this.writeFile(argument as Fields);
      case 'sleep_ms':
        return sleep(Number(argument), undefined, { signal: this.cancelled }).catch(() => undefined);
      case 'stderr':
        process.stderr.write(`${String(argument)}\n`);
        return;
      case 'fail':
        throw scriptedError(argument as Fields);
      case 'raw':
        process.stdout.write(`${String(argument)}\n`);
        return;
      case 'update':
        return this.update(argument as Fields);
      case 'ask_permission':
        return this.askPermission(argument as Fields);
      case 'exit':
        return this.exit(argument as Fields);
      case 'hang':
        // Deaf to cancel, as real agents are while they retry inside. The interval is what it waits on.
        setInterval(() => undefined, 60_000);
        return new Promise(() => undefined);
      case 'ignore_sigterm':
        process.on('SIGTERM', () => undefined);
        return;
      case 'spawn_child':
        return this.spawnChild(argument as Fields);
      case 'stop':
        return { stopReason: String(argument), ...('usage' in step ? { usage: step['usage'] } : {}) } as unknown as PromptResponse;
      case 'fail_launch':
      case 'fail_load':
        return;
    }
  }

  private async update(update: Fields): Promise<undefined> {
    await this.client.notify<unknown>(methods.client.session.update, { sessionId: this.session.id, update });
  }

  private async useTool(title: string, kind: string, work: () => unknown): Promise<undefined> {
    const toolCallId = `call_${++this.tools}`;
    await this.update({ sessionUpdate: 'tool_call', toolCallId, title, kind, status: 'in_progress' });
    const rawOutput = await work();
    await this.update({
      sessionUpdate: 'tool_call_update',
      toolCallId,
      status: 'completed',
      ...(rawOutput === undefined ? {} : { rawOutput }),
    });
  }

  private async call({ method, path, body, expect }: Fields): Promise<undefined> {
    let status = 0;
    await this.useTool(`${String(method)} ${String(path)}`, 'fetch', async () => {
      const response = await fetch(`${process.env['OFFICE_API_URL']}${String(path)}`, {
        method: String(method),
        headers: { authorization: `Bearer ${process.env['OFFICE_API_KEY']}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: this.cancelled,
      });
      status = response.status;
      return { status, body: await response.text() };
    });
    if (expect !== undefined && expect !== status) {
      throw new RequestError(-32603, `${String(method)} ${String(path)} answered ${status}, not ${JSON.stringify(expect)}`);
    }
  }

  private writeFile({ path, content }: Fields): Promise<undefined> {
    return this.useTool(`write ${String(path)}`, 'edit', () => {
      const file = resolve(this.session.cwd, String(path));
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, String(content));
    });
  }

  private async askPermission({ title, options }: Fields): Promise<undefined> {
    const toolCallId = `call_${++this.tools}`;
    const answer = await this.client.request<{ outcome?: { optionId?: string } }>(methods.client.session.requestPermission, {
      sessionId: this.session.id,
      toolCall: { toolCallId, title: String(title) },
      options: options ?? [
        { optionId: 'yes', name: 'Allow once', kind: 'allow_once' },
        { optionId: 'always', name: 'Always allow', kind: 'allow_always' },
        { optionId: 'no', name: 'Deny', kind: 'reject_once' },
      ],
    });
    await this.update({
      sessionUpdate: 'agent_message_chunk',
      content: { type: 'text', text: `permission: ${answer.outcome?.optionId ?? 'cancelled'}` },
    });
  }

  private exit({ code, signal }: Fields): Promise<undefined> {
    if (typeof signal !== 'string') process.exit(Number(code ?? 0));
    process.kill(process.pid, signal as NodeJS.Signals);
    return new Promise(() => undefined);
  }

  private spawnChild({ hold_stdout: holdStdout, setsid }: Fields): undefined {
    const stdout = holdStdout === true ? 'inherit' : 'ignore';
    spawn('sleep', ['600'], { detached: setsid === true, stdio: ['ignore', stdout, 'ignore'] }).unref();
  }
}
