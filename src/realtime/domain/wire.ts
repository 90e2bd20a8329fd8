/**
 * What travels over the socket, one JSON object a frame. Types only: the client, which ships to browsers, shares them.
 * `seq` counts within the feed it belongs to: the workspace's events, a run's log, or the revisions of a session's transcript.
 */
export interface Frame {
  /** Of a response or an error: the request's own. Of a notification: the request that subscribed to a task, run or session. */
  readonly id?: string;
  readonly type: 'request' | 'response' | 'notification' | 'error';
  readonly action: string;
  readonly payload: object;
  readonly timestamp: string;
  readonly seq?: number;
  readonly workspace_id?: string;
}

export type SocketErrorCode =
  'BAD_REQUEST' | 'VALIDATION_ERROR' | 'NOT_FOUND' | 'FORBIDDEN' | 'UNKNOWN_ACTION' | 'RESYNC_REQUIRED' | 'INTERNAL_ERROR';

export type TopicKind = 'workspace' | 'task' | 'run' | 'session';

/** What one can subscribe to. */
export interface Topic {
  readonly kind: TopicKind;
  readonly id: string;
}

/** Why the server closes a connection, beside the codes of RFC 6455. */
export interface CloseCodes {
  /** The token has expired or was revoked. */
  readonly unauthenticated: 4001;
  /** The client does not read as fast as things happen; the reason says how far it got. */
  readonly tooSlow: 4008;
}
