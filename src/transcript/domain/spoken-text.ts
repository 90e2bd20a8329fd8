import { storableText } from '../../platform/text/storable.js';
import { CappedText } from './capped-text.js';
import { ENTRY_CUT } from './entry.js';
import type { Masker } from './masking.js';

/** A secret shows nothing of itself by fewer characters than this; more of them wait until it is clear whether they are one. */
const TELLING = 4;

/**
 * What an agent says in pieces that may end anywhere: in the middle of a character, in the middle of a secret. What may still
 * become a secret is shown only when it has turned out not to be one.
 */
export class SpokenText {
  private readonly said = new CappedText(ENTRY_CUT);
  /** As it came; its end is still undecided. */
  private rest = '';

  constructor(private readonly masker: Masker) {}

  hear(piece: string): void {
    const text = this.masker.mask(this.rest + piece);
    const undecided = Math.max(this.masker.undecided(text), endsInHalf(text) ? 1 : 0);
    this.rest = undecided === 0 ? '' : text.slice(-undecided);
    this.said.append(storableText(undecided === 0 ? text : text.slice(0, -undecided)));
  }

  /** Nothing follows: what was held back is no secret. */
  end(): void {
    this.said.append(storableText(this.rest));
    this.rest = '';
  }

  get isDecided(): boolean {
    return this.rest === '';
  }

  show(): { readonly body: string; readonly bytes: number; readonly truncated: boolean } {
    const shown = endsInHalf(this.rest) ? this.rest.slice(0, -1) : this.rest;
    return this.said.show(shown.length < TELLING ? storableText(shown) : '');
  }
}

const endsInHalf = (text: string): boolean => /[\uD800-\uDBFF]$/.test(text);
