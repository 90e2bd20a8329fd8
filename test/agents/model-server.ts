import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ModelRequest {
  /** The conversation so far: messages, calls of tools and what came of them, oldest first. */
  readonly input: readonly Readonly<Record<string, unknown>>[];
  readonly tools: readonly { readonly type?: string; readonly name?: string; readonly tools?: readonly { readonly name?: string }[] }[];
}

/** What the model does with one request. */
export type Reply = (request: ModelRequest, response: ServerResponse) => void;

type Item = Readonly<Record<string, unknown>> & { readonly id: string };

/** Every refusal carries this: it is what agents show of the server when they show nothing else. */
export const REQUEST_ID = 'req_7b1c5d20f3';
/** What an answer of ours costs. */
export const USAGE = { input_tokens: 11, output_tokens: 7, total_tokens: 18 };

/** A model that speaks as much of OpenAI's Responses API as its agents need, and does what a test tells it to. */
export class ModelServer {
  readonly requests: ModelRequest[] = [];
  reply: Reply = says('Nothing to say.');

  private constructor(
    private readonly server: Server,
    /** The base of the API, without a slash at its end. */
    readonly url: string,
  ) {}

  static async open(): Promise<ModelServer> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const model = new ModelServer(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`);
    server.on('request', (request, response) => void model.serve(request, response));
    return model;
  }

  /** All it has been told by its last request, as one text. */
  conversation(): string {
    return JSON.stringify(this.requests.at(-1)?.input ?? []);
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const route = `${request.method} ${request.url?.split('?')[0]}`;
    if (route === 'GET /v1/models') return sendJson(response, 200, { object: 'list', data: [], models: [] });
    if (route !== 'POST /v1/responses') return sendJson(response, 404, { error: { message: `no ${route}` } });
    const asked = JSON.parse(await bodyOf(request)) as ModelRequest;
    this.requests.push(asked);
    this.reply(asked, response);
  }
}

/** Says one thing, a word at a time. */
export function says(text: string): Reply {
  return (_request, response) => {
    const stream = new ResponseStream(response);
    stream.say(text);
    stream.complete({ id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text }] });
  };
}

/** Wants to run a command outside of the agent's sandbox, for which the agent has to ask. `then` is what it does once it has been told. */
export function runs(command: string, then: Reply): Reply {
  return (request, response) => {
    if (request.input.at(-1)?.['type'] === 'function_call_output') return then(request, response);
    const args = { cmd: command, sandbox_permissions: 'require_escalated', justification: 'The task asks for it.' };
    const call = { type: 'function_call', call_id: 'call_1', name: 'exec_command', arguments: JSON.stringify(args) };
    const stream = new ResponseStream(response);
    stream.send('response.output_item.added', { output_index: 0, item: { ...call, id: 'fc_1', arguments: '', status: 'in_progress' } });
    stream.complete({ ...call, id: 'fc_1', status: 'completed' });
  };
}

export interface Refusal {
  readonly message: string;
  readonly type: string;
  readonly code: string | null;
}

export interface ToolCall {
  readonly name: string;
  /** Of tools that come from a server. */
  readonly namespace: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** Wants one tool after the other, each once it has been told what came of the one before. `then` is what it does after the last. */
export function calls(...wanted: readonly ((request: ModelRequest) => ToolCall)[]): (then: Reply) => Reply {
  return (then) => (request, response) => {
    const done = request.input.filter(({ type }) => type === 'function_call_output').length;
    const next = wanted[done];
    if (next === undefined) return then(request, response);
    const { name, namespace, arguments: args } = next(request);
    const call = { type: 'function_call', call_id: `call_${done}`, name, namespace, arguments: JSON.stringify(args) };
    const stream = new ResponseStream(response);
    stream.send('response.output_item.added', {
      output_index: 0,
      item: { ...call, id: `fc_${done}`, arguments: '', status: 'in_progress' },
    });
    stream.complete({ ...call, id: `fc_${done}`, status: 'completed' });
  };
}

/** An error before any answer, in the shape of the provider's. */
export function refuses(status: number, { message, type, code }: Refusal): Reply {
  return (_request, response) => {
    response.setHeader('x-request-id', REQUEST_ID);
    sendJson(response, status, { error: { message, type, param: null, code } });
  };
}

/** Begins to speak, then the line goes dead. */
export function breaksOff(text: string): Reply {
  return (_request, response) => {
    const stream = new ResponseStream(response);
    stream.say(text);
    response.write('', () => response.destroy());
  };
}

/** Never answers. */
export const hangs: Reply = () => undefined;

/** One answer as server-sent events. */
class ResponseStream {
  private sent = 0;
  private readonly head = { id: 'resp_1', object: 'response', created_at: 1, model: 'fake-model' };

  constructor(private readonly response: ServerResponse) {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    this.send('response.created', { response: { ...this.head, status: 'in_progress', output: [] } });
  }

  send(type: string, fields: Readonly<Record<string, unknown>>): void {
    this.response.write(`event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: this.sent++, ...fields })}\n\n`);
  }

  say(text: string): void {
    const item = { id: 'msg_1', type: 'message', role: 'assistant', status: 'in_progress', content: [] };
    this.send('response.output_item.added', { output_index: 0, item });
    for (const delta of text.match(/\S+\s*/g) ?? []) {
      this.send('response.output_text.delta', { item_id: item.id, output_index: 0, content_index: 0, delta });
    }
  }

  complete(item: Item): void {
    this.send('response.output_item.done', { output_index: 0, item });
    this.send('response.completed', { response: { ...this.head, status: 'completed', output: [item], usage: USAGE } });
    this.response.end();
  }
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = '';
  for await (const chunk of request.setEncoding('utf8')) body += chunk as string;
  return body;
}
