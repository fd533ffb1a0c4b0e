/** What became of a conversation from one prompt to the next: kept, changed, cut, gone on. Pure. */

import type { TimelineRow } from "../model/model";
import type { Message } from "./parsed/parts";

// ---- The prompts that a prompt may go on from: what is new in it is told by one of them.

/** Bodies larger than this aren't fetched a second time only to compare. */
const MOST_BYTES = 2_000_000;

/** Other conversations may stand in between: as many prompts are looked at. */
const MOST_PROMPTS = 4;

/** The prompts that a prompt may go on from, the latest first. */
export function promptsBefore(rows: readonly TimelineRow[], row: TimelineRow): TimelineRow[] {
  if (row.kind !== "llm_query" || row.side !== "begin" || row.size > MOST_BYTES) return [];
  const found: TimelineRow[] = [];
  for (let at = rows.length - 1; at >= 0 && found.length < MOST_PROMPTS; at -= 1) {
    const one = rows[at];
    if (one && one.seq < row.seq && isSibling(one, row) && one.size <= MOST_BYTES) found.push(one);
  }
  return found;
}

function isSibling(one: TimelineRow, row: TimelineRow): boolean {
  return one.kind === "llm_query" && one.side === "begin" && one.depth === row.depth;
}

/** Messages that stand together and share a fate. */
export interface Group {
  /** `same`: word for word as before. `changed`: in place of earlier ones. `new`: after all of those. */
  readonly change: "same" | "changed" | "new";
  readonly messages: readonly Message[];
  /** How many of the earlier prompt's messages are gone at this place. */
  readonly removedCount: number;
}

/**
 * A prompt's messages, told from those of an earlier one.
 *
 * @returns None where nothing is told: no message is the same, or all are, with nothing gone.
 */
export function promptDelta(messages: readonly Message[], before: readonly Message[]): Group[] {
  const stood = alignment(jsonTexts(messages), jsonTexts(before));
  const last = stood.findLastIndex((at) => at !== GONE);
  if (last < 0 || (stood.length === before.length && stood.every((at, n) => at === n))) return [];
  const groups: Group[] = [];
  let from = 0;
  let next = 0; // of the earlier prompt, not yet accounted for
  while (from < messages.length) {
    const kept = stood[from] !== GONE;
    let to = from + 1;
    while (to < messages.length && continues(stood, to, kept)) to += 1;
    const ends = kept ? (stood[from] ?? 0) : (stood[to] ?? before.length);
    const removedCount = Math.max(0, ends - next);
    if (kept && removedCount > 0) groups.push({ change: "changed", messages: [], removedCount });
    const change = kept ? "same" : from > last ? "new" : "changed";
    groups.push({
      change,
      messages: messages.slice(from, to),
      removedCount: kept ? 0 : removedCount,
    });
    next = kept ? (stood[to - 1] ?? 0) + 1 : ends;
    from = to;
  }
  if (next < before.length)
    groups.push({ change: "changed", messages: [], removedCount: before.length - next });
  return groups;
}

/** Where a message didn't stand. */
const GONE = -1;

/** Whether a message belongs to the group before it. */
function continues(stood: readonly number[], at: number, kept: boolean): boolean {
  const here = stood[at] ?? GONE;
  return kept ? here !== GONE && here === (stood[at - 1] ?? GONE) + 1 : here === GONE;
}

function jsonTexts(messages: readonly Message[]): string[] {
  return messages.map(({ json }) => json);
}

/** A table larger than this is not made: what follows the first difference counts as new. */
const MOST_PAIRS = 4_000_000;

/** For each text where it stood among the earlier ones, rising, as many as can be; -1: it is none of them. */
function alignment(texts: readonly string[], before: readonly string[]): number[] {
  const stood = texts.map(() => GONE);
  let from = 0;
  while (from < texts.length && from < before.length && texts[from] === before[from]) {
    stood[from] = from;
    from += 1;
  }
  const here = numbered(texts.slice(from), new Map());
  const there = numbered(before.slice(from), here.numbers).places;
  if (here.places.length * there.length > MOST_PAIRS) return stood;
  for (const [at, place] of longest(here.places, there)) stood[from + at] = from + place;
  return stood;
}

/** Texts as numbers, equal ones as the same: they are compared many times. */
function numbered(texts: readonly string[], numbers: Map<string, number>) {
  const places = texts.map((text) => {
    const number = numbers.get(text) ?? numbers.size;
    numbers.set(text, number);
    return number;
  });
  return { places, numbers };
}

/** The longest common subsequence, as pairs of places; of several the one that stood last. */
function longest(left: readonly number[], right: readonly number[]): [number, number][] {
  const width = right.length + 1;
  const lengths = new Uint16Array((left.length + 1) * width);
  const length = (i: number, j: number) => lengths[i * width + j] ?? 0;
  for (let i = 1; i <= left.length; i += 1) {
    for (let j = 1; j < width; j += 1) {
      lengths[i * width + j] =
        left[i - 1] === right[j - 1]
          ? length(i - 1, j - 1) + 1
          : Math.max(length(i - 1, j), length(i, j - 1));
    }
  }
  const pairs: [number, number][] = [];
  for (let i = left.length, j = right.length; i > 0 && j > 0; ) {
    if (left[i - 1] === right[j - 1]) pairs.push([--i, --j]);
    else if (length(i - 1, j) >= length(i, j - 1)) i -= 1;
    else j -= 1;
  }
  return pairs;
}
