/**
 * The handles that a comment calls with `@handle`, in order, each once, in small letters. Code does not call anybody:
 * fenced blocks and inline code are left out as Markdown reads them. Linear in the length of the body.
 */
export function mentionsIn(body: string): string[] {
  const found = new Set<string>();
  for (const [, handle] of withoutCode(body).matchAll(MENTION)) found.add(handle!.toLowerCase());
  return [...found];
}

// Not inside a word, an address, a path or another mention, and not the beginning of a longer word. A handle may end in
// - or _ but a sentence rarely means that: `@ada-` calls ada.
const MENTION = /(?<![\p{L}\p{N}_@/\\.+-])@([a-z0-9](?:[a-z0-9_-]{0,58}[a-z0-9])?)(?![\p{L}\p{N}@]|[_-]+[\p{L}\p{N}])/giu;

function withoutCode(body: string): string {
  const paragraphs: string[] = [];
  let paragraph: string[] = [];
  let fence: string | null = null;
  const end = (): void => {
    paragraphs.push(withoutInlineCode(paragraph.join('\n')));
    paragraph = [];
  };
  for (const line of body.split(/\r\n|\n|\r/)) {
    const [, marker, info] = /^ {0,3}(?:> ?)*(`{3,}|~{3,})(.*)$/.exec(line) ?? [];
    if (fence !== null) {
      if (marker?.startsWith(fence) && info!.trim() === '') fence = null;
    } else if (marker !== undefined && !(marker.startsWith('`') && info!.includes('`'))) {
      end();
      fence = marker;
    } else if (line.trim() === '') end();
    else paragraph.push(line);
  }
  end();
  return paragraphs.join('\n');
}

/** A run of backticks opens code that the next run of the same length closes; without one it is only backticks. */
function withoutInlineCode(text: string): string {
  const runs = [...text.matchAll(/`+/g)].map((match) => ({ at: match.index, length: match[0].length }));
  // The runs still ahead, by length, the nearest one last.
  const ahead = new Map<number, number[]>();
  for (const { at, length } of runs.toReversed()) {
    const known = ahead.get(length);
    if (known) known.push(at);
    else ahead.set(length, [at]);
  }
  let kept = '';
  let from = 0;
  for (const { at, length } of runs) {
    ahead.get(length)!.pop();
    if (at < from) continue;
    const closing = ahead.get(length)!.at(-1);
    if (closing === undefined) continue;
    kept += `${text.slice(from, at)} `;
    from = closing + length;
  }
  return kept + text.slice(from);
}
