import { client, methods, type AnyMessage, type ClientConnection } from '@agentclientprotocol/sdk';
import type { Writable } from 'node:stream';
import { isRecord, type Answer, type Frame } from '../domain/frame.js';
import type { PermissionOutcome } from '../domain/permission-choice.js';

/** The agent's side of the conversation is gone; no request will ever be answered. */
export class TransportClosed extends Error {
  constructor() {
    super('the agent can no longer be reached');
    this.name = 'TransportClosed';
  }
}

export type AskPermission = (request: Readonly<Record<string, unknown>>, withdrawn: AbortSignal) => Promise<PermissionOutcome>;

/**
 * Our side of the conversation with one agent: the SDK's connection behind a stream of our own. Lines are read and sorted
 * before the SDK sees them (`Frame`), so that it is given well-formed messages only, and an answer is handed on as it stood
 * on its line. One request of ours is open at a time.
 */
export class AcpPeer {
  private readonly connection: ClientConnection;
  private incoming!: ReadableStreamDefaultController<AnyMessage>;
  private open: number | null = null;
  private answer: Answer | null = null;
  private closed = false;

  constructor(
    private readonly stdin: Writable,
    askPermission: AskPermission,
  ) {
    const readable = new ReadableStream<AnyMessage>({ start: (controller) => void (this.incoming = controller) });
    const writable = new WritableStream<AnyMessage>({ write: (message) => this.write(message) });
    this.connection = client({ name: 'agent-office' })
      // Its own parser: the SDK's would refuse what some agents send.
      .onRequest(
        methods.client.session.requestPermission,
        (params: unknown) => (isRecord(params) ? params : {}),
        async ({ params, signal }) => ({ outcome: await askPermission(params, signal) }),
      )
      .connect({ readable, writable });
  }

  /** The id of our open request; null when the agent owes us nothing. */
  get openId(): number | null {
    return this.open;
  }

  /** Resolves to whatever the agent answers; rejects with `TransportClosed` only. */
  async request(method: string, params: Readonly<Record<string, unknown>>): Promise<Answer> {
    this.answer = null;
    try {
      await this.connection.agent.request(method, params);
    } catch {
      // An error answer arrives here too, parsed; what counts is the one from the line.
    }
    const answer = this.answer as Answer | null;
    if (answer === null) throw new TransportClosed();
    return answer;
  }

  notify(method: string, params: Readonly<Record<string, unknown>>): void {
    // It fails only when the connection is closed, which whoever waits for an answer is told.
    this.connection.agent.notify(method, params).catch(() => undefined);
  }

  /** Takes what is for the SDK. True for an answer: then the next line must wait until the answer has been dealt with. */
  receive(frame: Frame): boolean {
    if (this.closed) return false;
    if (frame.kind === 'request') {
      this.incoming.enqueue({ jsonrpc: '2.0', id: frame.id, method: frame.method, params: frame.params });
    } else if (frame.kind === 'cancel_request') {
      this.incoming.enqueue({ jsonrpc: '2.0', method: '$/cancel_request', params: frame.params });
    } else if (frame.kind === 'answer') {
      this.settle(frame.answer);
      return true;
    }
    return false;
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    this.connection.close();
  }

  private settle(answer: Answer): void {
    const id = this.open;
    this.open = null;
    this.answer = answer;
    const content = answer.kind === 'result' ? { result: answer.value } : { error: { code: -32603, message: answer.kind } };
    this.incoming.enqueue({ jsonrpc: '2.0', id, ...content });
  }

  private write(message: AnyMessage): void {
    if ('method' in message && 'id' in message && typeof message.id === 'number') this.open = message.id;
    this.stdin.write(`${JSON.stringify(message)}\n`);
  }
}
