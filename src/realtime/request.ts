import { isPlainObject } from '../platform/http/json-values.js';
import { isUuid } from '../platform/http/uuid.js';
import type { SocketErrorCode, Topic, TopicKind } from './domain/wire.js';

/** What a client asks for, understood. `after` null: from now on. */
export type SocketRequest = { readonly id: string | null; readonly action: string } & (
  | { readonly verb: 'subscribe'; readonly topic: Topic; readonly after: number | null }
  | { readonly verb: 'unsubscribe'; readonly topic: Topic }
  | { readonly verb: 'check' }
);

export interface Complaint {
  readonly id: string | null;
  readonly action: string;
  readonly code: SocketErrorCode;
  readonly message: string;
}

interface Shape {
  readonly verb: 'subscribe' | 'unsubscribe' | 'check';
  readonly kind?: TopicKind;
  /** The field that names the topic, and the one that says from where. */
  readonly names?: string;
  readonly from?: string;
}

const ACTIONS: ReadonlyMap<string, Shape> = new Map<string, Shape>([
  ['workspace.subscribe', { verb: 'subscribe', kind: 'workspace', names: 'workspace_id', from: 'after' }],
  ['workspace.unsubscribe', { verb: 'unsubscribe', kind: 'workspace', names: 'workspace_id' }],
  ['task.subscribe', { verb: 'subscribe', kind: 'task', names: 'task_id', from: 'after' }],
  ['task.unsubscribe', { verb: 'unsubscribe', kind: 'task', names: 'task_id' }],
  ['run.subscribe', { verb: 'subscribe', kind: 'run', names: 'run_id', from: 'after' }],
  ['run.unsubscribe', { verb: 'unsubscribe', kind: 'run', names: 'run_id' }],
  ['session.subscribe', { verb: 'subscribe', kind: 'session', names: 'session_id', from: 'after_rev' }],
  ['session.unsubscribe', { verb: 'unsubscribe', kind: 'session', names: 'session_id' }],
  ['health.check', { verb: 'check' }],
]);

const FRAME_FIELDS: readonly string[] = ['id', 'type', 'action', 'payload', 'timestamp'];
/** Long enough for any UUID or counter, short enough to be sent back in every answer. */
const MAX_ID = 100;
const MAX_ACTION = 100;

/** Reads one parsed frame of a client. Strict: a field we would ignore is refused, so that nobody believes to have been obeyed. */
export function readRequest(frame: unknown): SocketRequest | Complaint {
  if (!isPlainObject(frame)) return complaint(null, '', 'BAD_REQUEST', 'A frame is one JSON object.');
  const id = typeof frame.id === 'string' && frame.id.length <= MAX_ID ? frame.id : null;
  const action = typeof frame.action === 'string' && frame.action.length <= MAX_ACTION ? frame.action : '';
  const strange = Object.keys(frame).find((key) => !FRAME_FIELDS.includes(key));
  if (strange !== undefined) return complaint(id, action, 'BAD_REQUEST', `A request has the fields ${FRAME_FIELDS.join(', ')} only.`);
  if (frame.id !== undefined && id === null) return complaint(id, action, 'BAD_REQUEST', `id is a string of at most ${MAX_ID} characters.`);
  if (frame.type !== 'request') return complaint(id, action, 'BAD_REQUEST', 'Clients send frames of type request.');
  if (action === '') return complaint(id, action, 'BAD_REQUEST', 'action is the name of an action.');
  const shape = ACTIONS.get(action);
  if (shape === undefined) return complaint(id, action, 'UNKNOWN_ACTION', 'There is no such action.');
  return readPayload(id, action, shape, frame.payload ?? {});
}

function readPayload(id: string | null, action: string, shape: Shape, payload: unknown): SocketRequest | Complaint {
  const invalid = (message: string): Complaint => complaint(id, action, 'VALIDATION_ERROR', message);
  if (!isPlainObject(payload)) return invalid('payload is an object.');
  const { verb, kind, names, from } = shape;
  const known = [names, from].filter((field) => field !== undefined);
  if (Object.keys(payload).some((key) => !known.includes(key)))
    return invalid(`payload has the fields ${known.join(', ') || '(none)'} only.`);
  if (verb === 'check' || kind === undefined || names === undefined) return { id, action, verb: 'check' };
  const named = payload[names];
  if (!isUuid(named)) return invalid(`${names} is a UUID.`);
  const topic = { kind, id: named.toLowerCase() };
  if (verb === 'unsubscribe' || from === undefined) return { id, action, verb: 'unsubscribe', topic };
  const after = payload[from];
  if (after !== undefined && !isPosition(after)) return invalid(`${from} is a whole number, 0 or more.`);
  return { id, action, verb, topic, after: after ?? null };
}

const isPosition = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

const complaint = (id: string | null, action: string, code: SocketErrorCode, message: string): Complaint => ({ id, action, code, message });

export const isComplaint = (request: SocketRequest | Complaint): request is Complaint => 'code' in request;
