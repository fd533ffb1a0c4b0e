/** What a comparison needs of the Core: both runs whole, and the contents of the selected pair. */
import { useState } from "preact/hooks";
import type { Comparison, MessageBody, Model, RunOpened } from "../model/model";
import { type Loading, useLoaded } from "../view/loaded";
import { idOf as idOfPair, type Pair } from "./align";

/** Runs are compared as they stood. */
const ONCE = { once: true };

export interface BothRuns {
  readonly left: RunOpened;
  readonly right: RunOpened;
}

/** Both runs as they stood when they were asked for; `again` asks anew. */
export function useRuns(
  model: Model,
  { left, right }: Comparison,
): { runs: Loading<BothRuns>; again(): void } {
  const [times, setTimes] = useState(0);
  const runs = useLoaded(
    model,
    `${left} ${right} ${times}`,
    async () => {
      const [one, other] = await Promise.all([model.readRun(left), model.readRun(right)]);
      return { left: one, right: other };
    },
    ONCE,
  );
  return { runs, again: () => setTimes(times + 1) };
}

/** A pair's contents; null on the side that it lacks. */
export interface BothBodies {
  readonly pair: Pair;
  readonly left: MessageBody | null;
  readonly right: MessageBody | null;
}

export function useBodies(model: Model, runs: Comparison, pair: Pair): Loading<BothBodies> {
  const revisions = `${pair.left?.revision} ${pair.right?.revision}`;
  return useLoaded(
    model,
    `${idOfPair(pair)} ${revisions}`,
    async () => {
      const [left, right] = await Promise.all([
        pair.left && model.body(pair.left, runs.left),
        pair.right && model.body(pair.right, runs.right),
      ]);
      return { pair, left, right };
    },
    ONCE,
  );
}
