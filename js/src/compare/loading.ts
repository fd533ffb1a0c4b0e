/** What a comparison needs of the Core: both runs whole, and the contents of the selected pair. */
import { useEffect, useState } from "preact/hooks";
import type { Comparison, MessageBody, Model, RunOpened } from "../model/model";
import { idOf as idOfPair, type Pair } from "./align";

export type Loading<T> =
  | { readonly kind: "loading" }
  | { readonly kind: "ready"; readonly value: T }
  | { readonly kind: "failed"; readonly message: string; again(): void };

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
  const runs = useLoaded(model, `${left} ${right} ${times}`, async () => {
    const [one, other] = await Promise.all([model.readRun(left), model.readRun(right)]);
    return { left: one, right: other };
  });
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
  return useLoaded(model, `${idOfPair(pair)} ${revisions}`, async () => {
    const [left, right] = await Promise.all([
      pair.left && model.body(pair.left, runs.left),
      pair.right && model.body(pair.right, runs.right),
    ]);
    return { pair, left, right };
  });
}

/** What a key stands for; asked for again when the link is back, or the person says so. */
function useLoaded<T>(model: Model, key: string, load: () => Promise<T>): Loading<T> {
  const [found, setFound] = useState<{ key: string; state: Loading<T> } | null>(null);
  const [tries, setTries] = useState(0);
  const open = model.connection.value.kind === "open";
  const here = found?.key === key && found.state.kind === "ready";
  useEffect(() => {
    if (here) return;
    let wanted = true;
    const take = (state: Loading<T>) => wanted && setFound({ key, state });
    load().then(
      (value) => take({ kind: "ready", value }),
      (error: unknown) => {
        const message = error instanceof Error ? error.message : String(error);
        take({ kind: "failed", message, again: () => setTries(tries + 1) });
      },
    );
    return () => {
      wanted = false;
    };
  }, [model, key, tries, open]);
  return found?.key === key ? found.state : { kind: "loading" };
}
