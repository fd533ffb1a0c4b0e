/** Patterns as shells have them: `*`, `?` and `[...]`, with case, against the whole text. Pure. */

type Test = (char: string) => boolean;
const STAR = Symbol("any number of characters");

/** Whether a text is such; in time that grows with their lengths' product, whatever the pattern. */
export function fits(pattern: string, text: string): boolean {
  const parts = parse(pattern);
  const chars = [...text];
  let part = 0;
  let at = 0;
  // Where the last star stands, and how far it reaches: that one alone is ever tried again.
  let star = -1;
  let reach = 0;
  while (at < chars.length) {
    const wanted = parts[part];
    if (wanted === STAR) {
      star = part++;
      reach = at;
    } else if (wanted?.(chars[at] ?? "")) {
      part += 1;
      at += 1;
    } else if (star >= 0) {
      part = star + 1;
      at = ++reach;
    } else {
      return false;
    }
  }
  return parts.slice(part).every((each) => each === STAR);
}

/** The pattern that fits this text alone. */
export const literally = (text: string): string => text.replace(/[*?[]/g, "[$&]");

/** The text that a pattern fits alone; null where it fits others too. */
export function literalOf(pattern: string): string | null {
  const text = pattern.replace(/\[([*?[])\]/g, "$1");
  return literally(text) === pattern ? text : null;
}

function parse(pattern: string): (Test | typeof STAR)[] {
  const chars = [...pattern];
  const parts: (Test | typeof STAR)[] = [];
  for (let at = 0; at < chars.length; at += 1) {
    const char = chars[at];
    const end = char === "[" ? endOfSet(chars, at) : -1;
    if (char === "*") parts.push(STAR);
    else if (char === "?") parts.push(() => true);
    else if (end < 0) parts.push((each) => each === char);
    else {
      parts.push(oneOf(chars.slice(at + 1, end)));
      at = end;
    }
  }
  return parts;
}

/** Where a set ends; -1 where the bracket is only a character. One that comes first is in the set. */
function endOfSet(chars: readonly string[], at: number): number {
  return chars.indexOf("]", at + (chars[at + 1] === "!" ? 3 : 2));
}

function oneOf(chars: readonly string[]): Test {
  const turned = chars[0] === "!";
  const set = turned ? chars.slice(1) : chars;
  const ranges: [string, string][] = [];
  for (let at = 0; at < set.length; at += 1) {
    const first = set[at] ?? "";
    const isRange = set[at + 1] === "-" && at + 2 < set.length;
    ranges.push([first, isRange ? (set[at + 2] ?? "") : first]);
    if (isRange) at += 2;
  }
  return (char) => ranges.some(([from, to]) => from <= char && char <= to) !== turned;
}
