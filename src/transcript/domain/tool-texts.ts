import { cutMiddle, type MiddleCut } from '../../execution/domain/cut-text.js';

const KIB = 1024;
/** Together less than what is kept of one entry. */
const INPUT_CUT: MiddleCut = { whole: 64 * KIB, head: 48 * KIB, tail: 12 * KIB };
const OUTPUT_CUT: MiddleCut = { whole: 188 * KIB, head: 140 * KIB, tail: 44 * KIB };

interface Part {
  readonly text: string;
  readonly bytes: number;
}

const NOTHING: Part = { text: '', bytes: 0 };

const part = (text: string, cut: MiddleCut): Part => ({ text: cutMiddle(text, cut), bytes: Buffer.byteLength(text) });

/** What a tool was given and what came of it; each is replaced as a whole by a newer one. */
export class ToolTexts {
  private input = NOTHING;
  private output = NOTHING;
  /** Something that belonged to it is not known any more. */
  private isPartial = false;

  /** Masked texts; null leaves what was there. True when something was said. */
  take(input: string | null, output: string | null): boolean {
    if (input !== null) this.input = part(input, INPUT_CUT);
    if (output !== null) this.output = part(output, OUTPUT_CUT);
    return input !== null || output !== null;
  }

  get held(): number {
    return this.input.text.length + this.output.text.length;
  }

  /** Lets go of the texts: what is written stays as it is until something new is said. */
  forget(): void {
    if (this.held > 0) this.isPartial = true;
    this.input = this.output = NOTHING;
  }

  show(): { readonly body: string; readonly bytes: number; readonly truncated: boolean } {
    const { input, output } = this;
    const body = [input.text && `[input]\n${input.text}`, output.text && `[output]\n${output.text}`]
      .filter((text) => text !== '')
      .join('\n\n');
    const isCut = this.isPartial || input.bytes > INPUT_CUT.whole || output.bytes > OUTPUT_CUT.whole;
    return { body, bytes: input.bytes + output.bytes, truncated: isCut };
  }
}
