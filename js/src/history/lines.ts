/** The runs of the list, in an order that stands still while somebody looks. */
import { useRef } from "preact/hooks";
import type { Debugger } from "../model/debugger";
import { historyOf, type Order } from "../model/history";
import type { Run } from "../model/model";
import { matches, sorted } from "./sorting";

interface Kept {
  runs: readonly Run[];
  order: Order;
  /** The runs' ids, sorted. */
  ids: readonly string[];
  shown: boolean;
}

/**
 * The runs to show. They are sorted anew when runs come or go, when the person asks for another order
 * or comes back to the list; a run whose figures grow keeps its place. A list that is hidden rests.
 */
export function useLines(model: Debugger): readonly Run[] {
  const kept = useRef<Kept | null>(null);
  const lines = useRef<readonly Run[]>([]);
  const shown = model.tab.value === "runs";
  if (!shown) {
    if (kept.current) kept.current.shown = false;
    return lines.current;
  }
  const runs = model.runs.value;
  const order = historyOf(model).order.value;
  const before = kept.current;
  const same = before?.shown && before.order === order && sameIds(before.runs, runs);
  const ids = same ? before.ids : sorted(runs, order, Date.now() / 1000).map(({ id }) => id);
  kept.current = { runs, order, ids, shown };
  const byId = new Map(runs.map((run) => [run.id, run]));
  const filter = historyOf(model).filter.value;
  lines.current = ids.flatMap((id) => {
    const run = byId.get(id);
    return run && matches(run, filter) ? [run] : [];
  });
  return lines.current;
}

function sameIds(before: readonly Run[], now: readonly Run[]): boolean {
  return before.length === now.length && before.every(({ id }, at) => id === now[at]?.id);
}
