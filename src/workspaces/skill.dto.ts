import { LongText, Name } from '../platform/http/bounded-text.decorator.js';
import { Optional, Shaped } from '../platform/http/fields.decorator.js';

const SLUG = /^(?!office-)[a-z0-9]([a-z0-9-]{0,58}[a-z0-9])?$/;
const SLUG_WORDS = 'a slug: 1 to 60 of a-z, 0-9 and -, neither beginning nor ending with -, and not office-…';
const CONTENT_BYTES = 64 * 1024;

export class CreateSkillBody {
  /** The name of its folder. `office-…` belongs to the office. */
  @Shaped(SLUG, SLUG_WORDS) slug!: string;
  @Name({ max: 200 }) name!: string;
  /** When to read it: agents see this before they open it. */
  @Name({ max: 1_000 }) description!: string;
  /** Markdown. */
  @LongText({ min: 1, maxBytes: CONTENT_BYTES }) content!: string;
}

/** What is left out stays as it is. */
export class ChangeSkillBody {
  @Optional() @Shaped(SLUG, SLUG_WORDS) slug?: string;
  @Optional() @Name({ max: 200 }) name?: string;
  @Optional() @Name({ max: 1_000 }) description?: string;
  @Optional() @LongText({ min: 1, maxBytes: CONTENT_BYTES }) content?: string;
}
