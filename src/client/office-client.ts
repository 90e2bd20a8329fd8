import type { OfficeEventName, OfficeEvents } from '../platform/events/office-events.js';
import type { Frame, SocketErrorCode, Topic } from '../realtime/domain/wire.js';
import { Following, type FollowedItem, type FollowOptions } from './following.js';
import { protocolsFor, socketUrl, webSocketClass, type WebSocketClass, type WebSocketLike } from './web-socket.js';

export type { FollowingState, FollowOptions } from './following.js';
export type { WebSocketClass, WebSocketLike } from './web-socket.js';
export type { Following };

/** An event of a workspace; `action` tells which payload it has. */
export type OfficeEvent = {
  readonly [Name in OfficeEventName]: FollowedItem & { readonly action: Name; readonly payload: OfficeEvents[Name] };
}[OfficeEventName];

/** A line of a run's own log. */
export interface RunEvent extends FollowedItem {
  readonly payload: {
    readonly run_id: string;
    readonly event_type: string;
    readonly level: 'info' | 'warn' | 'error';
    readonly payload: Readonly<Record<string, unknown>>;
    readonly created_at: string;
  };
}

/** An entry of a session's transcript in its present form; `seq` of the item is its revision. */
export interface SessionEntry extends FollowedItem {
  readonly payload: {
    readonly session_id: string;
    /** Its place in the session: what comes again with it takes the place of what came before. */
    readonly seq: number;
    readonly rev: number;
    readonly run_id: string;
    readonly generation: number;
    readonly turn: number;
    readonly kind: 'prompt' | 'message' | 'thought' | 'tool' | 'plan' | 'permission' | 'notice';
    readonly acp_id: string | null;
    readonly title: string | null;
    readonly status: string | null;
    /** At most 4 KiB; `body_cut` says that there is more, at `GET /sessions/:id/entries/:seq`. */
    readonly body: string;
    readonly body_cut: boolean;
    readonly bytes: number;
    readonly truncated: boolean;
    readonly created_at: string;
    readonly updated_at: string;
  };
}

/** `waiting`: lost, and tried again after a pause. `refused`: the token is nobody's; nothing is tried any more. */
export type ConnectionState = 'connecting' | 'open' | 'waiting' | 'refused' | 'closed';

export interface OfficeClientOptions {
  /** Of the office, with or without a path: `https://office.example`. */
  readonly url: string;
  /** An access token, or where to get the one of the day; asked before every connection. */
  readonly token: string | (() => string | Promise<string>);
  readonly webSocket?: WebSocketClass;
  readonly onState?: (state: ConnectionState) => void;
  /** How often the connection is tried; one that answers nothing for two of these is given up. */
  readonly heartbeatMs?: number;
}

const HEARTBEAT_MS = 4_000;
const SHORTEST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 10_000;
const UNAUTHENTICATED = 4001;

/**
 * Follows an office live. Whatever happens to the connection, every following gets everything after its last event, in
 * order and once, or is told to begin anew.
 */
export class OfficeClient {
  private readonly followings = new Map<string, Following>();
  private socket: WebSocketLike | null = null;
  private current: ConnectionState = 'connecting';
  private timer: ReturnType<typeof setTimeout> | undefined;
  private failures = 0;
  private unanswered = 0;
  private requests = 0;

  constructor(private readonly options: OfficeClientOptions) {
    void this.connect();
  }

  get state(): ConnectionState {
    return this.current;
  }

  followWorkspace(id: string, options: FollowOptions<OfficeEvent>): Following {
    return this.follow({ kind: 'workspace', id }, options as FollowOptions<FollowedItem>);
  }

  /** The events of the workspace that are about this task. */
  followTask(id: string, options: FollowOptions<OfficeEvent>): Following {
    return this.follow({ kind: 'task', id }, options as FollowOptions<FollowedItem>);
  }

  followRun(id: string, options: FollowOptions<RunEvent>): Following {
    return this.follow({ kind: 'run', id }, options as FollowOptions<FollowedItem>);
  }

  /** The entries of a session's transcript, by revision. */
  followSession(id: string, options: FollowOptions<SessionEntry>): Following {
    return this.follow({ kind: 'session', id }, options as FollowOptions<FollowedItem>);
  }

  close(): void {
    if (this.current === 'closed') return;
    this.become('closed');
    clearTimeout(this.timer);
    const { socket } = this;
    this.abandon();
    socket?.close(1000);
    for (const following of this.followings.values()) following.stop();
  }

  private follow(topic: Topic, options: FollowOptions<FollowedItem>): Following {
    const following = new Following({ ...topic, id: topic.id.toLowerCase() }, options, {
      ask: (asking) => this.subscribe(asking),
      forget: (forgotten) => this.unsubscribe(forgotten),
    });
    if (this.followings.has(following.key)) throw new Error(`this client follows ${following.key} already`);
    if (this.current === 'closed' || this.current === 'refused') throw new Error(`this client is ${this.current}`);
    this.followings.set(following.key, following);
    if (this.current === 'open') following.ask();
    return following;
  }

  private async connect(): Promise<void> {
    this.become('connecting');
    try {
      const { token, url, webSocket } = this.options;
      const text = typeof token === 'string' ? token : await token();
      const Socket = await webSocketClass(webSocket);
      if (this.isOver) return;
      this.watch(new Socket(socketUrl(url), protocolsFor(text)));
    } catch {
      this.lost();
    }
  }

  private watch(socket: WebSocketLike): void {
    this.socket = socket;
    let refused = false;
    socket.onopen = () => {
      this.become('open');
      this.unanswered = 0;
      for (const following of this.followings.values()) following.ask();
      this.beat();
    };
    socket.onmessage = ({ data }) => this.hear(String(data));
    // `ws` says why the upgrade failed; browsers do not.
    socket.onerror = ({ message }) => (refused ||= /\b401\b/.test(message ?? ''));
    socket.onclose = ({ code }) => {
      this.abandon();
      if (refused || code === UNAUTHENTICATED) this.unauthenticated();
      else this.lost();
    };
    // Also while it opens: an answer to the upgrade may never come.
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.dead(), 2 * this.heartbeatMs + SHORTEST_PAUSE_MS);
  }

  /** Asks whether anybody is there; browsers show us none of the protocol's own pings. */
  private beat(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.beat(), this.heartbeatMs);
    if (this.unanswered++ >= 2) return this.dead();
    this.send('health.check', {});
  }

  private hear(text: string): void {
    this.unanswered = 0;
    const frame = JSON.parse(text) as Frame;
    switch (frame.type) {
      case 'notification':
        return this.handOn(frame);
      case 'response':
        this.failures = 0;
        if (frame.action === 'health.check') this.compare(frame.payload as { positions: Record<string, number> });
        else this.servedBy(frame.id)?.accept((frame.payload as { last_seq: number }).last_seq);
        return;
      case 'error':
        return this.refuse(frame);
      case 'request':
    }
  }

  private handOn({ id, action, payload, seq, timestamp, workspace_id: workspaceId = '' }: Frame): void {
    const following = id === undefined ? this.followings.get(`workspace:${workspaceId}`) : this.servedBy(id);
    if (seq !== undefined) following?.take({ seq, action, payload, timestamp, workspaceId });
  }

  private compare({ positions }: { positions: Record<string, number> }): void {
    for (const [key, position] of Object.entries(positions)) this.followings.get(key)?.served(position);
  }

  private refuse({ id, action, payload }: Frame): void {
    const { code, message, ...names } = payload as { code: SocketErrorCode; message: string } & Record<string, unknown>;
    const kind = action.split('.')[0];
    const following = id === undefined ? this.followings.get(`${kind}:${String(names[`${kind}_id`])}`) : this.servedBy(id);
    if (!following?.refused(code, message)) return;
    const { socket } = this;
    setTimeout(() => {
      if (socket === this.socket && this.current === 'open' && this.followings.has(following.key)) following.ask();
    }, this.pause());
  }

  private servedBy(id: string | undefined): Following | undefined {
    return id === undefined ? undefined : [...this.followings.values()].find((following) => following.isServedBy(id));
  }

  private subscribe({ topic, after }: Following): string | null {
    const from = topic.kind === 'session' ? 'after_rev' : 'after';
    return this.send(`${topic.kind}.subscribe`, { [`${topic.kind}_id`]: topic.id, ...(after !== null && { [from]: after }) });
  }

  private unsubscribe({ topic, key }: Following): void {
    if (this.followings.delete(key)) this.send(`${topic.kind}.unsubscribe`, { [`${topic.kind}_id`]: topic.id });
  }

  private send(action: string, payload: object): string | null {
    if (this.socket === null || this.current !== 'open') return null;
    const id = `r${++this.requests}`;
    this.socket.send(JSON.stringify({ id, type: 'request', action, payload }));
    return id;
  }

  private dead(): void {
    const { socket } = this;
    this.abandon();
    if (socket?.terminate) socket.terminate();
    else socket?.close();
    this.lost();
  }

  /** Nothing this socket still says is heard. */
  private abandon(): void {
    clearTimeout(this.timer);
    if (this.socket === null) return;
    this.socket.onopen = this.socket.onmessage = this.socket.onclose = null;
    this.socket.onerror = () => undefined;
    this.socket = null;
    for (const following of this.followings.values()) following.disconnected();
  }

  private lost(): void {
    if (this.isOver) return;
    this.become('waiting');
    this.timer = setTimeout(() => void this.connect(), this.pause());
  }

  private unauthenticated(): void {
    // Whoever fetches tokens may have a better one by now.
    if (typeof this.options.token !== 'string') return this.lost();
    this.become('refused');
    for (const following of this.followings.values()) following.refused('UNAUTHENTICATED', 'The token has ended.');
  }

  /** Grows while nothing is answered, and differs from client to client: a server that comes back is not run over. */
  private pause(): number {
    return Math.min(LONGEST_PAUSE_MS, SHORTEST_PAUSE_MS * 2 ** this.failures++) * (0.5 + Math.random() / 2);
  }

  private get isOver(): boolean {
    return this.current === 'closed' || this.current === 'refused';
  }

  private get heartbeatMs(): number {
    return this.options.heartbeatMs ?? HEARTBEAT_MS;
  }

  private become(state: ConnectionState): void {
    if (state === this.current) return;
    this.current = state;
    this.options.onState?.(state);
  }
}
