/**
 * How much of a long text is shown, and what is said of the rest.
 *
 * A body can be megabytes: first a screenful, then ever larger pieces, so that no click makes the
 * browser lay out everything at once.
 */
import { formatCount, formatSize } from "../view/format";

export interface TextLimit {
  readonly lines: number;
  readonly chars: number;
}

export const INITIAL_LIMIT: TextLimit = { lines: 14, chars: 1600 };
/** Where nothing else is on the page: a result, Raw. */
export const INITIAL_LIMIT_ALONE: TextLimit = { lines: 200, chars: 20_000 };
/** What one "Show more" adds. */
export const SHOW_MORE_LIMIT: TextLimit = { lines: 1000, chars: 120_000 };

/** A few lines over the limit aren't worth a fold. */
const SLACK = 1.4;

/** Up to where a text is shown, having been shown up to `from`. */
export function foldEnd(text: string, from: number, limit: TextLimit): number {
  const within = reach(text, from, { lines: limit.lines * SLACK, chars: limit.chars * SLACK });
  return within === text.length ? within : reach(text, from, limit);
}

function reach(text: string, from: number, limit: TextLimit): number {
  const furthest = from + limit.chars;
  let at = from;
  for (let lines = 0; lines < limit.lines; lines += 1) {
    const next = text.indexOf("\n", at);
    if (next === -1 && text.length <= furthest) return text.length;
    if (next === -1 || next >= furthest) {
      // Whole lines where they are most of it, else part of the long line that follows.
      return at - from > limit.chars / 2 ? at : whole(text, furthest);
    }
    at = next + 1;
  }
  return at;
}

/** Not between the halves of a character. */
function whole(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff ? at - 1 : at;
}

/** "Show 120 more lines · 14 KB" */
export function moreText(text: string, from: number): string {
  const rest = text.slice(from);
  const lines = countLines(rest);
  const bytes = formatSize(textBytes(rest));
  // In the middle of a long line its size says it all.
  return lines > 1 ? `Show ${formatCount(lines, "more line")} · ${bytes}` : `Show ${bytes} more`;
}

/** How many lines a text has. */
export function countLines(text: string): number {
  let lines = text === "" ? 0 : 1;
  for (
    let at = text.indexOf("\n");
    at !== -1 && at < text.length - 1;
    at = text.indexOf("\n", at + 1)
  ) {
    lines += 1;
  }
  return lines;
}

// ---- Sizes of texts.

const encoder = new TextEncoder();
const SAMPLE = 4096;

/** The size of a text as it travels; an estimate for long ones, where encoding a copy would cost. */
export function textBytes(text: string): number {
  if (text.length <= SAMPLE) return encoder.encode(text).length;
  return Math.round((text.length * encoder.encode(text.slice(0, SAMPLE)).length) / SAMPLE);
}
