/** What is new in a prompt, compared with the one before it. */

import type { Row } from "../model/model";
import type { Message } from "./read/types";

/** Bodies larger than this aren't fetched a second time only to compare. */
const MOST_BYTES = 2_000_000;

/** Other conversations may stand in between: as many prompts are looked at. */
const MOST_PROMPTS = 4;

/** The prompts that a prompt may go on from, the latest first. */
export function promptsBefore(rows: readonly Row[], row: Row): Row[] {
  if (row.kind !== "llm_query" || row.side !== "begin" || row.size > MOST_BYTES) return [];
  const found: Row[] = [];
  for (let at = rows.length - 1; at >= 0 && found.length < MOST_PROMPTS; at -= 1) {
    const one = rows[at];
    if (one && one.seq < row.seq && isSibling(one, row) && one.size <= MOST_BYTES) found.push(one);
  }
  return found;
}

function isSibling(one: Row, row: Row): boolean {
  return one.kind === "llm_query" && one.side === "begin" && one.depth === row.depth;
}

/** How many messages of a prompt stood at the start of the one before, word for word. */
export function unchanged(messages: readonly Message[], before: readonly Message[]): number {
  let same = 0;
  while (same < messages.length && messages[same]?.source === before[same]?.source) same += 1;
  // All of them again: the same prompt was sent twice, and folding everything away helps nobody.
  return same === messages.length ? 0 : same;
}
