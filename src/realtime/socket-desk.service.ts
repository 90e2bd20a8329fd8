import { Injectable, Logger } from '@nestjs/common';
import type { Socket } from 'node:net';
import type { RawData, WebSocket } from 'ws';
import type { Person } from '../access/call.js';
import { Doorkeeper } from '../access/doorkeeper.service.js';
import { Clock } from '../platform/clock/clock.js';
import { isUnavailable } from '../platform/database/sqlstate.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { parseBody } from '../platform/http/json-body.js';
import { TranscriptReads } from '../transcript/transcript-reads.service.js';
import { CLOSE, Connection } from './connection.js';
import { Connections } from './connections.service.js';
import { isLost } from './domain/stretch.js';
import type { Topic, TopicKind } from './domain/wire.js';
import type { FeedEnds } from './feed.js';
import type { FeedPage, FeedSource } from './feed-source.js';
import { Feeds } from './feeds.service.js';
import { Patrol } from './patrol.service.js';
import { isComplaint, readRequest, type SocketRequest } from './request.js';
import { RunEventsSource } from './run-events.source.js';
import { keyOf, Subscription } from './subscription.js';
import { TranscriptSource } from './transcript.source.js';
import { WorkspaceEventsSource } from './workspace-events.source.js';

const MAX_SUBSCRIPTIONS = 100;
/** For a client that stopped reading to begin again, before its connection is cut. */
const LAST_CHANCE_MS = 2_000;

const ROWS = { workspace: 'workspaces', task: 'tasks', run: 'runs', session: 'sessions' } as const satisfies Record<TopicKind, string>;

/** A task is followed in the feed of its workspace. */
const feedKeyOf = ({ topic, workspaceId }: { topic: Topic; workspaceId: string }): string =>
  topic.kind === 'task' ? keyOf({ kind: 'workspace', id: workspaceId }) : keyOf(topic);

/** Answers what clients ask over their sockets, and lets go of subscriptions that have to end. */
@Injectable()
export class SocketDesk {
  private readonly logger = new Logger(SocketDesk.name);

  constructor(
    private readonly doorkeeper: Doorkeeper,
    private readonly connections: Connections,
    private readonly feeds: Feeds,
    private readonly patrol: Patrol,
    private readonly unitOfWork: UnitOfWork,
    private readonly clock: Clock,
    private readonly transcripts: TranscriptReads,
  ) {}

  /** A socket that was admitted before the upgrade. */
  welcome(socket: WebSocket, wire: Socket, person: Person): void {
    const connection = new Connection(socket, wire, person, this.clock);
    this.connections.add(connection);
    socket.on('message', (data, isBinary) => this.hear(connection, data, isBinary));
    socket.on('pong', () => connection.heard());
    socket.on('ping', (data) => {
      if (connection.accepts()) connection.pong(data);
      else connection.close(CLOSE.policy, 'too many messages');
    });
    socket.once('close', (code) => {
      for (const subscription of connection.subscriptions.values()) this.leave(subscription);
      this.connections.remove(connection, code);
    });
    this.patrol.watch();
  }

  private hear(connection: Connection, data: RawData, isBinary: boolean): void {
    connection.heard();
    if (isBinary) return connection.close(CLOSE.unsupportedData, 'text frames only');
    if (!connection.accepts()) return connection.close(CLOSE.policy, 'too many messages');
    const request = readRequest(parsed(data));
    connection.inTurn(async () => {
      if (isComplaint(request)) connection.refuse(request.id, request.action, request.code, request.message);
      else await this.answer(connection, request).catch((error: unknown) => this.apologise(connection, request, error));
    });
  }

  private async answer(connection: Connection, request: SocketRequest): Promise<void> {
    if (request.verb === 'subscribe') return this.subscribe(connection, request);
    if (request.verb === 'unsubscribe') {
      const subscription = connection.subscriptions.get(keyOf(request.topic));
      if (subscription !== undefined) this.leave(subscription);
      return respond(connection, request, {});
    }
    // Sent after everything up to these positions, so a client that lacks some of it knows that it was lost on the way.
    const positions = [...connection.subscriptions.values()].map(({ key, at }) => [key, at] as const);
    respond(connection, request, { status: 'ok', positions: Object.fromEntries(positions) });
  }

  private async subscribe(connection: Connection, request: SocketRequest & { verb: 'subscribe' }): Promise<void> {
    const { id, action, topic } = request;
    const { person } = connection;
    const workspaceId = await this.doorkeeper.workspaceOfReadable(person, ROWS[topic.kind], topic.id);
    if (workspaceId === null) return connection.refuse(id, action, 'NOT_FOUND', 'There is no such thing here.');
    const source = this.sourceOf(topic, workspaceId);
    const head = await source.read(request.after ?? 0, 0, [person.tokenId]);
    if (!head.admitted.has(person.tokenId)) return connection.refuse(id, action, 'NOT_FOUND', 'There is no such thing here.');
    const at = request.after ?? head.last;
    if (isLost(at, head)) return connection.refuse(id, action, 'RESYNC_REQUIRED', TAKE_A_NEW_PICTURE, factsOf(head));
    if (!connection.isOpen) return;

    const earlier = connection.subscriptions.get(keyOf(topic));
    if (earlier !== undefined) this.leave(earlier);
    if (connection.subscriptions.size >= MAX_SUBSCRIPTIONS) {
      return connection.refuse(id, action, 'BAD_REQUEST', `A connection has at most ${MAX_SUBSCRIPTIONS} subscriptions.`);
    }
    const subscription = new Subscription(connection, topic, workspaceId, id, at);
    connection.subscriptions.set(subscription.key, subscription);
    respond(connection, request, { last_seq: head.last });
    this.feeds.add(feedKeyOf(subscription), () => source, subscription, this.ends);
  }

  private sourceOf({ kind, id }: Topic, workspaceId: string): FeedSource {
    switch (kind) {
      case 'workspace':
      case 'task':
        return new WorkspaceEventsSource(workspaceId, this.unitOfWork);
      case 'run':
        return new RunEventsSource(workspaceId, id, this.unitOfWork);
      case 'session':
        return new TranscriptSource(workspaceId, id, this.transcripts, this.unitOfWork);
    }
  }

  private leave(subscription: Subscription): void {
    subscription.connection.subscriptions.delete(subscription.key);
    this.feeds.remove(feedKeyOf(subscription), subscription);
  }

  private readonly ends: FeedEnds = {
    turnedAway: (subscription) => {
      this.leave(subscription);
      // Was it the token, or the role?
      void this.patrol.isValid(subscription.tokenId).then((isValid) => {
        if (isValid) this.tellEnd(subscription, { code: 'FORBIDDEN', message: 'You have no role in this workspace any more.' });
        else subscription.connection.close(CLOSE.unauthenticated, 'the token has ended');
      });
    },
    lost: (subscription, page) => {
      this.leave(subscription);
      this.tellEnd(subscription, { code: 'RESYNC_REQUIRED', message: TAKE_A_NEW_PICTURE, ...factsOf(page) });
    },
    tooSlow: (subscription, isStuck) => {
      this.leave(subscription);
      const { connection, topic, at } = subscription;
      this.logger.log({ user_id: connection.person.userId, [`${topic.kind}_id`]: topic.id, last_seq: at }, 'client does not keep up');
      connection.close(CLOSE.tooSlow, JSON.stringify({ [`${topic.kind}_id`]: topic.id, last_seq: at }));
      // The goodbye waits behind what is not read.
      if (isStuck) this.clock.after(LAST_CHANCE_MS, () => connection.cut());
    },
    failed: (error, subscription) => {
      this.logger.error({ err: error }, 'feed not served');
      if (subscription === null) return;
      this.leave(subscription);
      subscription.connection.close(CLOSE.internalError, 'something went wrong here');
    },
  };

  private tellEnd(subscription: Subscription, payload: object): void {
    const { connection, topic, workspaceId } = subscription;
    connection.tell({
      type: 'error',
      action: `${topic.kind}.subscribe`,
      payload: { ...payload, [`${topic.kind}_id`]: topic.id },
      workspace_id: workspaceId,
    });
  }

  private apologise(connection: Connection, { id, action }: SocketRequest, error: unknown): void {
    const isAway = isUnavailable(error);
    if (!isAway) this.logger.error({ err: error, action }, 'socket request failed');
    connection.refuse(id, action, 'INTERNAL_ERROR', isAway ? 'The database does not answer; try again.' : 'Something went wrong here.');
  }
}

const TAKE_A_NEW_PICTURE = 'What follows that place is not kept any more; take a new picture and subscribe again.';

const factsOf = ({ oldest, last }: FeedPage): object => ({ oldest_seq: oldest, last_seq: last });

const respond = (connection: Connection, { id, action }: SocketRequest, payload: object): void =>
  connection.tell({ ...(id !== null && { id }), type: 'response', action, payload });

/** Undefined, which is no frame, for whatever is no JSON we take. */
function parsed(data: RawData): unknown {
  try {
    // One buffer: the library's default for what comes in.
    return parseBody((data as Buffer).toString('utf8'));
  } catch {
    return undefined;
  }
}
