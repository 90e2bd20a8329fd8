import { cutBytes, storableText } from '../../platform/text/storable.js';
import { chunkText, isContent, kindOf, showsUse } from './content.js';
import { isRecord, type Update } from './frame.js';

const LAST_MESSAGE_BYTES = 32 * 1024;
const CHUNK_BYTES = 64 * 1024;
const SPOKEN_BYTES = 64 * 1024;
const INFO_UPDATES = 16;
const INFO_CHARACTERS = 16 * 1024;

/** What an adapter is shown of a turn to tell whether its agent ended it in disguise (contract 5, tell-tales). */
export interface TurnSigns {
  readonly answer: Readonly<Record<string, unknown>>;
  /** The last `session_info_update`s that carried `_meta`, oldest first. */
  readonly info: readonly Update[];
  readonly lastMessage: string | null;
  readonly lastChunk: string | null;
}

interface Message {
  readonly id: unknown;
  readonly parts: string[];
  bytes: number;
}

/** What one turn has brought so far, in bounded memory. Updates go in by `take`, in order. */
export class TurnRecord {
  contentSeen = false;
  effectSeen = false;
  useSeen = false;
  permissionRefused = false;
  currentTool: string | null = null;

  private readonly messages: Message[] = [];
  private spokenBytes = 0;
  private unspokenOutput = false;
  private interrupted = true;
  private chunk: string | null = null;
  private readonly info: Update[] = [];

  /** `notices`: what this agent says of itself; a chunk that is one is no sign that its model works, no output and no message. */
  constructor(private readonly notices: readonly RegExp[] = []) {}

  /** True: the agent did something. False: bookkeeping, or a notice. */
  take(update: Update, characters: number): boolean {
    if (showsUse(update)) this.useSeen = true;
    const kind = kindOf(update);
    if (kind === 'session_info_update' && isRecord(update['_meta']) && characters <= INFO_CHARACTERS) {
      this.info.push(update);
      if (this.info.length > INFO_UPDATES) this.info.shift();
    }
    if (!isContent(update) || this.isNotice(update)) return false;
    this.contentSeen = true;
    if (kind === 'agent_message_chunk') {
      this.hear(update);
      return true;
    }
    this.unspokenOutput = true;
    if (kind === 'tool_call' || kind === 'tool_call_update') this.watchTool(update);
    if (kind === 'tool_call' || kind === 'agent_thought_chunk') this.interrupted = true;
    return true;
  }

  /** A request for permission is content and, whatever the answer, an effect. */
  takePermission(): void {
    this.contentSeen = true;
    this.effectSeen = true;
    this.unspokenOutput = true;
  }

  /** Storable text of the last message, cut to 32 KiB. */
  get lastMessage(): string | null {
    const last = this.messages.at(-1);
    return last ? cutBytes(storableText(last.parts.join('')), LAST_MESSAGE_BYTES) : null;
  }

  /** Whether the agent brought anything besides `excused`: texts that merely repeat the error which ended the turn. */
  outputSeen(excused: readonly string[] = []): boolean {
    if (this.unspokenOutput) return true;
    const echoes = new Set(excused.map((text) => text.trim()));
    return this.messages.some(({ parts }) => {
      const text = parts.join('').trim();
      return text !== '' && !echoes.has(text);
    });
  }

  signs(answer: Readonly<Record<string, unknown>>): TurnSigns {
    return { answer, info: this.info, lastMessage: this.lastMessage, lastChunk: this.chunk };
  }

  private isNotice(update: Update): boolean {
    const text = kindOf(update) === 'agent_message_chunk' ? chunkText(update)?.trim() : undefined;
    return text !== undefined && this.notices.some((notice) => notice.test(text));
  }

  private hear(update: Update): void {
    const text = chunkText(update);
    if (text === null) {
      this.unspokenOutput = true;
      return;
    }
    this.chunk = cutBytes(text, CHUNK_BYTES);
    const id = update['messageId'] ?? null;
    let message = this.messages.at(-1);
    if (message === undefined || this.interrupted || message.id !== id) {
      message = { id, parts: [], bytes: 0 };
      this.messages.push(message);
      this.forgetOldest();
    }
    this.interrupted = false;
    if (message.bytes > LAST_MESSAGE_BYTES) return;
    const part = text.length > LAST_MESSAGE_BYTES ? ownCopy(text.slice(0, LAST_MESSAGE_BYTES + 1)) : text;
    message.parts.push(part);
    message.bytes += Buffer.byteLength(part);
    this.spokenBytes += Buffer.byteLength(part);
  }

  /** Beyond 64 KiB of messages there surely was output; only the last one is still needed. */
  private forgetOldest(): void {
    if (this.spokenBytes <= SPOKEN_BYTES && this.messages.length <= INFO_UPDATES) return;
    this.unspokenOutput = true;
    this.spokenBytes = 0;
    this.messages.splice(0, this.messages.length - 1);
  }

  private watchTool(update: Update): void {
    this.effectSeen = true;
    const { title, toolCallId, status } = update;
    if (status === 'completed' || status === 'failed') {
      this.currentTool = null;
      return;
    }
    const name = typeof title === 'string' && title !== '' ? title : this.currentTool === null ? toolCallId : null;
    if (typeof name === 'string') this.currentTool = cutBytes(storableText(name), 200);
  }
}

/** A slice keeps the whole text alive that it came from. UTF-16, because a character may arrive in two halves. */
const ownCopy = (text: string): string => Buffer.from(text, 'utf16le').toString('utf16le');
