/** Which sessions a list shows, and in what order. Pure. */
import type { AgentState, SessionStatus } from "../protocol/runtime.gen";
import { isOver, lastWords, STATUSES } from "./status";

export type Column = "state" | "agent" | "moniker" | "iteration" | "since";

export interface Order {
  readonly by: Column;
  /** The largest first. */
  readonly down: boolean;
}

/** A state, those that live, or "" for all. */
export type StateFilter = "" | "live" | SessionStatus;

export interface Filter {
  /** What stands in the agent's name, the session's id, the moniker or the last words. */
  readonly text: string;
  readonly state: StateFilter;
}

/** Newest first; whatever it is sorted by, sessions that are alike are. */
export const FIRST: Order = { by: "since", down: true };

const RANK = new Map(Object.keys(STATUSES).map((status, at) => [status, at]));

const VALUES: Record<Column, (state: AgentState) => string | number> = {
  state: ({ status }) => RANK.get(status) ?? RANK.size,
  agent: ({ agent_id }) => agent_id,
  moniker: ({ moniker }) => moniker,
  iteration: ({ iteration }) => iteration,
  since: ({ created_at }) => created_at,
};

const COLLATOR = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

/** A copy in this order. */
export function sorted(states: Iterable<AgentState>, { by, down }: Order): AgentState[] {
  const value = VALUES[by];
  const turn = down ? -1 : 1;
  return [...states].sort(
    (a, b) =>
      turn * compared(value(a), value(b)) ||
      b.created_at - a.created_at ||
      compared(a.session_id, b.session_id),
  );
}

function compared(a: string | number, b: string | number): number {
  if (typeof a === "string" && typeof b === "string") return COLLATOR.compare(a, b);
  return Number(a) - Number(b);
}

/** What a column is first sorted by when it is asked for. */
export function turned(order: Order, by: Column): Order {
  if (order.by === by) return { by, down: !order.down };
  return { by, down: by === "since" || by === "iteration" };
}

export function matches(state: AgentState, { text, state: wanted }: Filter): boolean {
  if (wanted === "live" ? isOver(state) : wanted !== "" && state.status !== wanted) return false;
  const sought = text.trim().toLowerCase();
  if (sought === "") return true;
  const { agent_id, session_id, moniker } = state;
  return [agent_id, session_id, moniker, lastWords(state)].some((each) =>
    each.toLowerCase().includes(sought),
  );
}
