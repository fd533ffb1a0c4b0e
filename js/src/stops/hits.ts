/** Where a stop has hit: in the shown run, else in the newest other one. Pure. */
import type { Run } from "../model/model";

export interface Hits {
  /** In the shown run. */
  count: number;
  /** The last one of all; null where there is none. */
  last: { run: Run; seq: number; here: boolean } | null;
}

export function hitsOf(stop: string, shown: Run | null, runs: readonly Run[]): Hits {
  const here = shown && hitsIn(stop, shown);
  if (here) return { count: here.count, last: { run: shown, seq: here.last, here: true } };
  const run = runs.findLast((each) => hitsIn(stop, each));
  const hit = run && hitsIn(stop, run);
  return { count: 0, last: hit ? { run, seq: hit.last, here: false } : null };
}

const hitsIn = (stop: string, { hits }: Run) => hits.find((each) => each.stop === stop);
