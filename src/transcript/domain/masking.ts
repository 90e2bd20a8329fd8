/** Something that an agent's process was given and nobody else is to read. */
export interface Secret {
  readonly name: string;
  readonly value: string;
}

/** Masking anything shorter would hide more than it guards. */
const SHORTEST = 8;
/** A piece of a secret at a cut gives nothing away while it is shorter than this. */
const TELLING = 4;

interface Form {
  readonly text: string;
  readonly mask: string;
}

/** What becomes of texts that may hold secrets. A masker of none leaves everything as it is. */
export class Masker {
  private readonly forms: readonly Form[];
  private readonly masks: ReadonlyMap<string, string>;
  private readonly anywhere: RegExp | null;
  /** The first characters of every form. */
  private readonly beginnings: RegExp | null;
  private readonly longest: number;

  constructor(secrets: readonly Secret[]) {
    const masks = new Map<string, string>();
    for (const { name, value } of secrets) {
      for (const text of formsOf(value)) if (!masks.has(text)) masks.set(text, `[secret:${name}]`);
    }
    // The longest first: of two that begin alike it is the one that is meant.
    this.forms = [...masks].map(([text, mask]) => ({ text, mask })).sort((a, b) => b.text.length - a.text.length);
    this.masks = masks;
    this.anywhere = this.forms.length === 0 ? null : new RegExp(this.forms.map(({ text }) => literal(text)).join('|'), 'g');
    const beginnings = [...new Set(this.forms.map(({ text }) => text.slice(0, TELLING)))];
    this.beginnings = this.forms.length === 0 ? null : new RegExp(beginnings.map(literal).join('|'), 'g');
    this.longest = this.forms[0]?.text.length ?? 0;
  }

  get hidesNothing(): boolean {
    return this.anywhere === null;
  }

  mask(text: string): string {
    if (this.anywhere === null) return text;
    // Most texts hold none, and to look for a few words is quicker than to match any of them at every place.
    if (!this.forms.some((form) => text.includes(form.text))) return text;
    return text.replace(this.anywhere, (found) => this.masks.get(found)!);
  }

  /** As `mask`, of a text that was cut somewhere: pieces of a secret at its ends, and around a marker of a cut, go too. */
  maskCut(text: string): string {
    if (this.anywhere === null) return text;
    return this.mask(text)
      .split(CUT_MARKER)
      .map((part, index) => (index % 2 === 1 ? part : this.maskEdges(part)))
      .join('');
  }

  /** JSON, its keys included. */
  maskJson(value: unknown): unknown {
    if (this.anywhere === null) return value;
    if (typeof value === 'string') return this.mask(value);
    if (Array.isArray(value)) return value.map((part) => this.maskJson(part));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, part]) => [this.mask(name), this.maskJson(part)]));
  }

  /** How many characters at the end of an already masked text may be the beginning of a secret whose rest is still to come. */
  undecided(text: string): number {
    if (this.beginnings === null || text === '') return 0;
    const from = Math.max(0, text.length - this.longest + 1);
    const end = text.slice(from);
    for (this.beginnings.lastIndex = 0; ;) {
      const found = this.beginnings.exec(end);
      if (found === null) break;
      if (this.begins(end.slice(found.index))) return end.length - found.index;
      this.beginnings.lastIndex = found.index + 1;
    }
    for (let length = Math.min(TELLING - 1, end.length); length > 0; length--) if (this.begins(end.slice(-length))) return length;
    return 0;
  }

  private begins(piece: string): boolean {
    return this.forms.some(({ text }) => text.length > piece.length && text.startsWith(piece));
  }

  private maskEdges(text: string): string {
    const last = this.undecided(text);
    const safe = last < TELLING ? text : text.slice(0, -last) + this.forms.find((form) => form.text.startsWith(text.slice(-last)))!.mask;
    for (const { text: form, mask } of this.forms) {
      for (let length = Math.min(form.length - 1, safe.length); length >= TELLING; length--) {
        if (safe.startsWith(form.slice(-length))) return mask + safe.slice(length);
      }
    }
    return safe;
  }
}

export const NO_SECRETS = new Masker([]);

/** As `cutMiddle` writes it. */
const CUT_MARKER = /(\n\[… cut, \d+ bytes in all …\]\n|\\n\[… cut, \d+ bytes in all …\]\\n)/;

const literal = (text: string): string => text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');

const inJson = (text: string): string => JSON.stringify(text).slice(1, -1);

/** How a value may stand in a text: as it is, within JSON (and JSON within that), base64, URL-encoded. */
function formsOf(value: string): string[] {
  const plain = [...new Set([value, value.trim()])].filter((text) => text.length >= SHORTEST);
  const forms = plain.flatMap((text) => [text, inJson(text), inJson(inJson(text)), inJson(text).replaceAll('/', '\\/')]);
  for (const text of plain) forms.push(...inBase64(text), ...inUrl(text));
  return [...new Set(forms)].filter((text) => text.length >= SHORTEST);
}

function inUrl(text: string): string[] {
  const encoded = encodeURIComponent(text.toWellFormed());
  const strict = encoded.replace(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);
  const lower = (url: string): string => url.replace(/%[0-9A-F]{2}/g, (hex) => hex.toLowerCase());
  return [encoded, strict].flatMap((url) => [url, lower(url), url.replaceAll('%20', '+')]);
}

/** By itself, and within something longer that is encoded as a whole (`user:secret`): there it begins at any of three places. */
function inBase64(text: string): string[] {
  const bytes = Buffer.from(text, 'utf8');
  const forms = [bytes.toString('base64')];
  for (let before = 0; before < 3; before++) {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .replace(/=+$/, '');
    // The first and last characters are made of neighbours, too.
    const whole = encoded.slice(before === 0 ? 0 : before + 1, Math.floor(((before + bytes.length) * 8) / 6));
    if (whole.length >= SHORTEST) forms.push(whole);
  }
  return forms.flatMap((form) => [form, form.replaceAll('+', '-').replaceAll('/', '_')]);
}
