import { fingerprint } from '../../platform/text/fingerprint.js';
import type { ExecutionEvent, Outcome } from '../../execution/agent-runtime.js';
import { kindOf } from '../../execution/domain/content.js';
import { cutMiddle } from '../../execution/domain/cut-text.js';
import { summary } from '../../execution/domain/error-payload.js';
import { isRecord } from '../../execution/domain/frame.js';
import { cutBytes, storableText } from '../../platform/text/storable.js';
import { blockText, permissionText, planText, toolInput, toolOutput } from './acp-text.js';
import { ENTRY_CUT, RUN_CAPS, type EntryKind, type EntryWrite } from './entry.js';
import { maskText } from './mask-result.js';
import { NO_SECRETS, type Masker } from './masking.js';
import { SpokenText } from './spoken-text.js';
import { ToolTexts } from './tool-texts.js';

const NAME_BYTES = 256;
const TITLE_BYTES = 1024;
/** What a change costs beside its text. */
const ROW_BYTES = 256;
/** Tools whose texts are kept at hand for their next update, and tools that are known at all. */
const TOOL_TEXTS = 2 * 1024 * 1024;
const TOOLS = 10_000;

type Fields = Readonly<Record<string, unknown>>;
type Shown = ReturnType<SpokenText['show']>;

interface Row {
  readonly place: number;
  readonly kind: EntryKind;
  readonly acpId: string | null;
  title: string | null;
  status: string | null;
  /** Null: nothing new was said since it was last written. */
  show: (() => Shown) | null;
  isNew: boolean;
  /** Bytes of body as last written. */
  written: number;
}

interface Spoken extends Row {
  readonly kind: 'message' | 'thought';
  readonly text: SpokenText;
}

interface Tool extends Row {
  readonly texts: ToolTexts;
}

/**
 * What one attempt at a run adds to its session's transcript. Events go in, in order; what has changed since the last batch
 * comes out, and is forgotten here. Memory is bounded, whatever the agent does.
 */
export class TranscriptDraft {
  /** Of tool calls begun. */
  tools = 0;
  /** About how many bytes the next batch is made of. */
  unwritten = 0;
  private masker = NO_SECRETS;
  private places = 0;
  private readonly dirty = new Map<number, Row>();
  private speaking: Spoken | null = null;
  /** By ACP id, the one that was heard of last at the end. */
  private readonly toolsById = new Map<string, Tool>();
  private toolTexts = 0;
  private plan: Row | null = null;
  private readonly permissions = new Map<string, Row>();
  private kept = 0;
  private isFull = false;

  /** From here on. */
  hide(masker: Masker): void {
    this.masker = masker;
  }

  /** How many entries there are so far. */
  get entries(): number {
    return this.places;
  }

  get isDirty(): boolean {
    return this.dirty.size > 0;
  }

  take(event: ExecutionEvent): void {
    switch (event.type) {
      case 'session_ready':
        if (event.loadFailure !== null) this.notice('The agent did not know its session any more; a new one was begun.', event.loadFailure);
        return this.addWhole('prompt', null, null, event.promptSent);
      case 'update':
        return event.content ? this.takeUpdate(event.update) : undefined;
      case 'permission_requested':
        return this.ask(event.requestId, event.request);
      case 'permission_answered':
        return this.answer(event.requestId, event.decision);
      case 'outcome':
        return this.end(event.outcome);
      case 'launched':
      case 'mcp_mode_changed':
      case 'gone':
        return undefined;
    }
  }

  /** What has changed since the last batch, oldest entry first. */
  batch(): EntryWrite[] {
    const rows = [...this.dirty.values()].sort((a, b) => a.place - b.place);
    this.dirty.clear();
    this.unwritten = 0;
    const writes = rows.map((row) => this.write(row));
    this.forgetTools();
    return writes;
  }

  private takeUpdate(update: Fields): void {
    switch (kindOf(update)) {
      case 'agent_message_chunk':
        return this.speak('message', update);
      case 'agent_thought_chunk':
        return this.speak('thought', update);
      case 'tool_call':
      case 'tool_call_update':
        return this.work(update);
      case 'plan':
        return this.intend(update);
      case null:
      default:
        return undefined;
    }
  }

  private speak(kind: 'message' | 'thought', update: Fields): void {
    const acpId = nameOf(update['messageId']);
    let row = this.speaking;
    if (row === null || row.kind !== kind || row.acpId !== this.maskedName(acpId)) {
      this.hush();
      const text = new SpokenText(this.masker);
      row = { ...this.newRow(kind, acpId), kind, text };
      row.show = () => text.show();
      this.speaking = row;
    }
    const said = blockText(update['content']);
    row.text.hear(said);
    this.changed(row, said.length);
  }

  /** Whoever spoke has finished: what was held back is said. */
  private hush(): void {
    const { speaking } = this;
    this.speaking = null;
    if (speaking === null || speaking.text.isDecided) return;
    speaking.text.end();
    this.changed(speaking, 0);
  }

  private work(update: Fields): void {
    const id = nameOf(update['toolCallId']) ?? '';
    const tool = this.toolsById.get(id) ?? this.newTool(id);
    this.toolsById.delete(id);
    this.toolsById.set(id, tool);
    const [input, output] = [this.masked(toolInput(update)), this.masked(toolOutput(update))];
    this.toolTexts -= tool.texts.held;
    if (tool.texts.take(input, output) || tool.isNew) tool.show = () => tool.texts.show();
    this.toolTexts += tool.texts.held;
    tool.title = this.title(update['title']) ?? tool.title ?? this.title(update['kind']);
    tool.status = nameOf(update['status']) ?? tool.status;
    this.changed(tool, (input?.length ?? 0) + (output?.length ?? 0));
  }

  private newTool(id: string): Tool {
    this.hush();
    this.tools++;
    return { ...this.newRow('tool', id), status: 'pending', texts: new ToolTexts() };
  }

  private intend(update: Fields): void {
    if (this.plan === null) {
      this.hush();
      this.plan = this.newRow('plan', null);
    }
    this.say(this.plan, planText(update));
  }

  private ask(requestId: string, request: Fields): void {
    const call: Fields = isRecord(request['toolCall']) ? request['toolCall'] : {};
    this.hush();
    const row = this.newRow('permission', nameOf(call['toolCallId']));
    row.title = this.title(call['title']);
    row.status = 'pending';
    this.permissions.set(requestId, row);
    this.say(row, permissionText(request));
  }

  private answer(requestId: string, decision: string): void {
    const row = this.permissions.get(requestId);
    if (row === undefined) return;
    this.permissions.delete(requestId);
    row.status = decision;
    this.changed(row, 0);
  }

  private end(outcome: Outcome): void {
    this.hush();
    if (outcome.kind === 'error') this.notice('The agent stopped with an error.', summary(outcome.payload));
    if (outcome.kind === 'timed_out') this.notice('The turn took too long.', summary(outcome.payload));
    if (outcome.kind === 'stopped') this.notice('The turn was stopped.', outcome.reason);
  }

  private notice(title: string, body: string): void {
    this.addWhole('notice', title, null, maskText(this.masker, body));
  }

  private addWhole(kind: EntryKind, title: string | null, acpId: string | null, text: string): void {
    this.hush();
    const row = this.newRow(kind, acpId);
    row.title = title;
    this.say(row, text);
  }

  /** The whole text of an entry, as it is now. */
  private say(row: Row, text: string): void {
    const masked = this.masked(text)!;
    const shown = { body: cutMiddle(masked, ENTRY_CUT), bytes: Buffer.byteLength(masked), truncated: false };
    row.show = () => ({ ...shown, truncated: shown.bytes > ENTRY_CUT.whole });
    this.changed(row, masked.length);
  }

  private newRow(kind: EntryKind, acpId: string | null): Row {
    return { place: this.places++, kind, acpId: this.maskedName(acpId), title: null, status: null, show: null, isNew: true, written: 0 };
  }

  private changed(row: Row, bytes: number): void {
    this.dirty.set(row.place, row);
    this.unwritten += bytes + ROW_BYTES;
  }

  private write(row: Row): EntryWrite {
    const { place, isNew, kind, acpId, title, status } = row;
    const entry = { place, isNew, kind, acpId, title, status };
    row.isNew = false;
    if (row.show === null) return { ...entry, body: null, bytes: 0, truncated: false };
    let shown = row.show();
    // Whoever still speaks will be shown again.
    if (row !== this.speaking) row.show = null;
    let size = Buffer.byteLength(shown.body);
    if (this.kept - row.written + size > RUN_CAPS.bytes || place >= RUN_CAPS.entries) this.isFull = true;
    if (this.isFull && (kind === 'tool' || kind === 'thought')) {
      shown = { ...shown, body: '', truncated: true };
      size = 0;
    }
    this.kept += size - row.written;
    row.written = size;
    return { ...entry, ...shown };
  }

  /** After a batch nothing of it has to be kept but what the next update of a tool builds upon. */
  private forgetTools(): void {
    for (const [id, tool] of this.toolsById) {
      const tooMany = this.toolsById.size > TOOLS;
      if (!tooMany && this.toolTexts <= TOOL_TEXTS) break;
      this.toolTexts -= tool.texts.held;
      tool.texts.forget();
      if (tooMany) this.toolsById.delete(id);
    }
  }

  private maskedName(name: string | null): string | null {
    return name === null ? null : this.masker.mask(name);
  }

  private masked(text: string | null): string | null {
    return text === null ? null : storableText(this.masker.mask(text));
  }

  private title(value: unknown): string | null {
    return typeof value === 'string' && value !== '' ? cutBytes(this.masked(value)!, TITLE_BYTES) : null;
  }
}

/** A name of the agent's making, short enough to be kept; of a longer one its hash, so that two stay two. */
function nameOf(value: unknown): string | null {
  if (typeof value !== 'string' || value === '') return null;
  const name = storableText(value);
  return Buffer.byteLength(name) <= NAME_BYTES ? name : fingerprint(value);
}
