import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** How a model behaves, in every tongue it speaks. `fails` by status or spent quota, before a word; `slow` speaks for a minute. */
export type Manner =
  | { readonly how: 'says'; readonly text: string }
  | { readonly how: 'runs'; readonly command: string; readonly finally: string }
  | { readonly how: 'fails'; readonly status: Failure }
  | { readonly how: 'resets' | 'hangs' }
  | { readonly how: 'breaks_off' | 'slow'; readonly text: string };

export type Failure = 400 | 401 | 403 | 429 | 500 | 529 | 'quota';

type Json = Readonly<Record<string, unknown>>;
type Dialect = 'messages' | 'responses' | 'chat' | 'gemini';

const WORD_MS = 5;
const SLOW_WORD_MS = 500;

/** Status, type, message and code of each failure, in the words of the provider. */
const OPENAI: Record<Failure, readonly [number, string, string, string | null]> = {
  400: [
    400,
    'invalid_request_error',
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 99999 tokens.",
    'context_length_exceeded',
  ],
  401: [401, 'invalid_request_error', 'Incorrect API key provided: sk-bogus.', 'invalid_api_key'],
  403: [403, 'permission_error', 'Your project does not have access to this model.', 'forbidden'],
  429: [
    429,
    'requests',
    'Rate limit reached for fake-model on requests per min (RPM): Limit 3, Used 3, Requested 1. Please try again in 20s.',
    'rate_limit_exceeded',
  ],
  quota: [429, 'insufficient_quota', 'You exceeded your current quota, please check your plan and billing details.', 'insufficient_quota'],
  500: [500, 'server_error', 'The server had an error while processing your request. Sorry about that!', null],
  529: [529, 'overloaded_error', 'Overloaded', null],
};
const ANTHROPIC: Record<Failure, readonly [number, string, string]> = {
  400: [400, 'invalid_request_error', 'prompt is too long: 250000 tokens > 200000 maximum'],
  401: [401, 'authentication_error', 'invalid x-api-key'],
  403: [403, 'permission_error', 'Your API key does not have permission to use the specified resource.'],
  429: [429, 'rate_limit_error', "This request would exceed your account's rate limit. Please try again later."],
  quota: [
    400,
    'invalid_request_error',
    'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.',
  ],
  500: [500, 'api_error', 'Internal server error'],
  529: [529, 'overloaded_error', 'Overloaded'],
};
const GOOGLE: Record<Failure, readonly [number, string, string]> = {
  400: [400, 'INVALID_ARGUMENT', 'The input token count exceeds the maximum number of tokens allowed.'],
  401: [401, 'UNAUTHENTICATED', 'Request had invalid authentication credentials.'],
  403: [403, 'PERMISSION_DENIED', 'The caller does not have permission.'],
  429: [429, 'RESOURCE_EXHAUSTED', 'Resource has been exhausted (e.g. check quota).'],
  quota: [429, 'RESOURCE_EXHAUSTED', 'You exceeded your current quota, please check your plan and billing details.'],
  500: [500, 'INTERNAL', 'An internal error has occurred.'],
  529: [503, 'UNAVAILABLE', 'The model is overloaded. Please try again later.'],
};

/** A model that every agent of these tests can talk to, on a port of its own. */
export class AnyModel {
  manner: Manner = { how: 'says', text: 'Nothing to say.' };
  /** The bodies of what it was asked, side questions (titles, counts) left out. */
  readonly requests: Json[] = [];

  private constructor(
    private readonly server: Server,
    /** Without a path. */
    readonly url: string,
  ) {}

  static async open(): Promise<AnyModel> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const model = new AnyModel(server, `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    server.on('request', (request, response) => void model.serve(request, response));
    return model;
  }

  /** All it has been told by its last request, as one text. */
  conversation(): string {
    return JSON.stringify(this.requests.at(-1) ?? {});
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url!.split('?')[0]!;
    const text = await bodyOf(request);
    const dialect = dialectOf(path);
    if (dialect === null) return aside(request, path, response);
    const body = JSON.parse(text) as Json;
    // A question without tools is for a title or the like; Gemini first asks which model to ask.
    if (toolNames(body).length > 0 || choosesModel(body)) this.requests.push(body);
    new Reply(dialect, body, /stream/i.test(path) || body['stream'] === true, response).give(this.manner);
  }
}

/** One answer. */
class Reply {
  private sent = 0;

  constructor(
    private readonly dialect: Dialect,
    private readonly body: Json,
    private readonly streams: boolean,
    private readonly response: ServerResponse,
  ) {}

  give(manner: Manner): void {
    switch (manner.how) {
      case 'hangs':
        return;
      case 'resets':
        return void this.response.socket?.destroy();
      case 'fails':
        return this.fail(manner.status);
      case 'runs':
        return toolNames(this.body).length > 0 && !this.toolAnswered() ? this.call(manner.command) : this.say(manner.finally, WORD_MS);
      case 'slow':
        return this.say(`${manner.text} `.repeat(100), SLOW_WORD_MS);
      case 'breaks_off':
        return this.say(manner.text, WORD_MS, 2);
      case 'says':
        return this.say(manner.text, WORD_MS);
    }
  }

  private fail(status: Failure): void {
    this.response.setHeader('request-id', 'req_7b1c5d20f3').setHeader('x-request-id', 'req_7b1c5d20f3');
    if (this.dialect === 'messages') {
      const [code, type, message] = ANTHROPIC[status];
      return sendJson(this.response, code, { type: 'error', error: { type, message }, request_id: 'req_7b1c5d20f3' });
    }
    if (this.dialect === 'gemini') {
      const [code, name, message] = GOOGLE[status];
      return sendJson(this.response, code, { error: { code, message, status: name } });
    }
    const [httpStatus, type, message, code] = OPENAI[status];
    return sendJson(this.response, httpStatus, { error: { message, type, param: null, code } });
  }

  /** `breakAfter`: so many words, then the line goes dead. */
  private say(text: string, wordMs: number, breakAfter = Infinity): void {
    const tongue = TONGUES[this.dialect];
    if (choosesModel(this.body))
      return sendJson(this.response, 200, tongue.whole(JSON.stringify({ reasoning: 'short', model_choice: 'flash' })));
    if (!this.streams)
      return breakAfter < Infinity ? void this.response.socket?.destroy() : sendJson(this.response, 200, tongue.whole(text));
    this.begin();
    for (const frame of tongue.start) this.send(frame);
    const words = text.match(/\S+\s*/g) ?? [text];
    let said = 0;
    const timer = setInterval(() => {
      if (said >= breakAfter) {
        clearInterval(timer);
        this.response.socket?.destroy();
      } else if (said < words.length) {
        this.send(tongue.word(words[said++]!));
      } else {
        clearInterval(timer);
        for (const frame of tongue.end(text)) this.send(frame);
        this.end();
      }
    }, wordMs);
    this.response.on('close', () => clearInterval(timer));
  }

  private call(command: string): void {
    const names = toolNames(this.body);
    const name = names.find((one) => /^(bash|shell|shell_command|exec_command|run_shell_command|local_shell)$/i.test(one)) ?? names[0]!;
    const args = argumentsFor(name, command);
    this.begin();
    for (const frame of TONGUES[this.dialect].call(name, args)) this.send(frame);
    this.end();
  }

  private toolAnswered(): boolean {
    const messages = (this.body['messages'] ?? this.body['input'] ?? this.body['contents'] ?? []) as unknown[];
    return /"tool_result"|"role":"tool"|function_call_output|functionResponse/.test(JSON.stringify(messages.at(-1) ?? ''));
  }

  private begin(): void {
    this.response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  }

  private send([event, data]: Frame): void {
    const numbered = this.dialect === 'responses' ? { ...data, sequence_number: this.sent++ } : data;
    this.response.write(`${event === null ? '' : `event: ${event}\n`}data: ${JSON.stringify(numbered)}\n\n`);
  }

  private end(): void {
    this.response.end(this.dialect === 'chat' ? 'data: [DONE]\n\n' : '');
  }
}

type Frame = readonly [event: string | null, data: Json];

interface Tongue {
  readonly start: readonly Frame[];
  word(text: string): Frame;
  end(text: string): readonly Frame[];
  call(name: string, args: Json): readonly Frame[];
  whole(text: string): Json;
}

const usage = { input_tokens: 11, output_tokens: 7, total_tokens: 18 };
const typed = (type: string, fields: Json): Frame => [type, { type, ...fields }];

const responseHead = { id: 'resp_1', object: 'response', created_at: 1, model: 'fake-model' };
const message = { id: 'msg_1', type: 'message', role: 'assistant' };
const responses: Tongue = {
  start: [
    typed('response.created', { response: { ...responseHead, status: 'in_progress', output: [] } }),
    typed('response.output_item.added', { output_index: 0, item: { ...message, status: 'in_progress', content: [] } }),
    typed('response.content_part.added', {
      item_id: 'msg_1',
      output_index: 0,
      content_index: 0,
      part: { type: 'output_text', text: '', annotations: [] },
    }),
  ],
  word: (delta) => typed('response.output_text.delta', { item_id: 'msg_1', output_index: 0, content_index: 0, delta }),
  end: (text) => completed({ ...message, status: 'completed', content: [{ type: 'output_text', text, annotations: [] }] }),
  call: (name, args) => {
    const item = { id: 'fc_1', type: 'function_call', call_id: 'call_1', name };
    return [
      responses.start[0]!,
      typed('response.output_item.added', { output_index: 0, item: { ...item, arguments: '', status: 'in_progress' } }),
      typed('response.function_call_arguments.done', { item_id: 'fc_1', output_index: 0, arguments: JSON.stringify(args) }),
      ...completed({ ...item, arguments: JSON.stringify(args), status: 'completed' }),
    ];
  },
  whole: (text) => ({
    ...responseHead,
    status: 'completed',
    output: [{ ...message, status: 'completed', content: [{ type: 'output_text', text, annotations: [] }] }],
    usage,
  }),
};
function completed(item: Json): Frame[] {
  const counts = { ...usage, input_tokens_details: { cached_tokens: 0 }, output_tokens_details: { reasoning_tokens: 0 } };
  return [
    typed('response.output_item.done', { output_index: 0, item }),
    typed('response.completed', { response: { ...responseHead, status: 'completed', output: [item], usage: counts } }),
  ];
}

const chunkHead = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'fake-model' };
const chatUsage = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };
const delta = (part: Json, finish: string | null = null): Frame => [
  null,
  { ...chunkHead, choices: [{ index: 0, delta: part, finish_reason: finish }] },
];
const chat: Tongue = {
  start: [delta({ role: 'assistant', content: '' })],
  word: (content) => delta({ content }),
  end: () => [delta({}, 'stop'), [null, { ...chunkHead, choices: [], usage: chatUsage }]],
  call: (name, args) => [
    delta({ role: 'assistant', content: '' }),
    delta({ tool_calls: [{ index: 0, id: 'call_1', type: 'function', function: { name, arguments: JSON.stringify(args) } }] }),
    delta({}, 'tool_calls'),
    [null, { ...chunkHead, choices: [], usage: chatUsage }],
  ],
  whole: (content) => ({
    ...chunkHead,
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
    usage: chatUsage,
  }),
};

const claudeHead = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'fake-model',
  content: [],
  stop_reason: null,
  stop_sequence: null,
  usage: { input_tokens: 11, output_tokens: 1, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
};
const stopped = (reason: string): Frame[] => [
  typed('content_block_stop', { index: 0 }),
  typed('message_delta', { delta: { stop_reason: reason, stop_sequence: null }, usage: { output_tokens: 7 } }),
  typed('message_stop', {}),
];
const messages: Tongue = {
  start: [
    typed('message_start', { message: claudeHead }),
    typed('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
  ],
  word: (text) => typed('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
  end: () => stopped('end_turn'),
  call: (name, args) => [
    typed('message_start', { message: claudeHead }),
    typed('content_block_start', { index: 0, content_block: { type: 'tool_use', id: 'toolu_1', name, input: {} } }),
    typed('content_block_delta', { index: 0, delta: { type: 'input_json_delta', partial_json: JSON.stringify(args) } }),
    ...stopped('tool_use'),
  ],
  whole: (text) => ({ ...claudeHead, content: [{ type: 'text', text }], stop_reason: 'end_turn' }),
};

const candidate = (parts: readonly Json[], finishReason?: string): Json => ({
  candidates: [{ content: { role: 'model', parts }, index: 0, ...(finishReason === undefined ? {} : { finishReason }) }],
  usageMetadata: { promptTokenCount: 11, candidatesTokenCount: 7, totalTokenCount: 18 },
  modelVersion: 'fake-model',
});
const gemini: Tongue = {
  start: [],
  word: (text) => [null, candidate([{ text }])],
  end: () => [[null, candidate([{ text: '' }], 'STOP')]],
  call: (name, args) => [[null, candidate([{ functionCall: { name, args } }], 'STOP')]],
  whole: (text) => candidate([{ text }], 'STOP'),
};

const TONGUES: Record<Dialect, Tongue> = { responses, chat, messages, gemini };

function argumentsFor(tool: string, command: string): Json {
  if (tool === 'shell') return { command: ['bash', '-lc', command] };
  // Codex asks for a permission only where its sandbox has to be left.
  if (tool === 'exec_command') return { cmd: command, sandbox_permissions: 'require_escalated', justification: 'The task asks for it.' };
  return { command, description: 'make a file' };
}

function toolNames(body: Json): string[] {
  const tools = (body['tools'] ?? []) as {
    readonly name?: string;
    readonly function?: { readonly name: string };
    readonly functionDeclarations?: readonly { readonly name: string }[];
  }[];
  return tools
    .flatMap((tool) => tool.functionDeclarations?.map(({ name }) => name) ?? [tool.name ?? tool.function?.name])
    .filter((name) => name !== undefined);
}

const choosesModel = (body: Json): boolean => (body['generationConfig'] as Json | undefined)?.['responseMimeType'] === 'application/json';

function dialectOf(path: string): Dialect | null {
  if (path.endsWith('/messages')) return 'messages';
  if (path.endsWith('/responses')) return 'responses';
  if (path.endsWith('/chat/completions')) return 'chat';
  return /:(stream)?generateContent$/i.test(path) ? 'gemini' : null;
}

/** What agents ask a provider besides. */
function aside(request: IncomingMessage, path: string, response: ServerResponse): void {
  if (path.endsWith('/models'))
    return sendJson(response, 200, {
      object: 'list',
      data: [{ id: 'fake-model', object: 'model', created: 1, owned_by: 'x' }],
      models: [],
    });
  if (path.endsWith('/count_tokens')) return sendJson(response, 200, { input_tokens: 10 });
  if (path.endsWith(':countTokens')) return sendJson(response, 200, { totalTokens: 10 });
  return sendJson(response, request.method === 'HEAD' ? 200 : 404, {});
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = '';
  for await (const chunk of request.setEncoding('utf8')) body += chunk as string;
  return body;
}
