/** The prompts that a prompt may go on from: what is new in it is told by one of them. */

import type { Row } from "../model/model";

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
