/** The sessions of the list, in an order that stands still while somebody looks. */
import { useRef } from "preact/hooks";
import type { AgentState } from "../protocol/runtime.gen";
import type { SessionsModel } from "./model";
import { matches, type Order, sorted } from "./sorting";

interface Kept {
  order: Order;
  /** The sessions that there were. */
  n: number;
  ids: readonly string[];
}

/**
 * The sessions to show. They are sorted anew when sessions come, or when the person asks for another
 * order: one whose figures grow keeps its place.
 */
export function useLines(model: SessionsModel): readonly AgentState[] {
  const kept = useRef<Kept | null>(null);
  const states = model.states.value; // sessions come, and never go
  const order = model.order.value;
  const filter = model.filter.value;
  if (kept.current?.order !== order || kept.current.n !== states.size) {
    const ids = sorted(states.values(), order).map(({ session_id }) => session_id);
    kept.current = { order, n: states.size, ids };
  }
  return model.statesOf(kept.current.ids).filter((state) => matches(state, filter));
}
