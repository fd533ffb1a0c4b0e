/** How sessions stand, what they can be told, and how a list of them is sorted. Pure. */
import type { IconName } from "../icons/icon";
import type { AgentState, SessionStatus } from "../protocol/runtime.gen";
import { formatDate } from "../view/format";

export interface Status {
  words: string;
  icon: IconName;
  tone: "you" | "agent" | "good" | "bad" | "off";
  /** For the tooltip. */
  explanation: string;
}

/** In the order in which a list shows them: first what asks for somebody. */
export const STATUSES: Record<SessionStatus, Status> = {
  error: {
    words: "Error",
    icon: "crash",
    tone: "bad",
    explanation: "Its last step failed for good",
  },
  paused: { words: "Paused", icon: "pause", tone: "you", explanation: "It waits to be resumed" },
  running: {
    words: "Running",
    icon: "play",
    tone: "agent",
    explanation: "It does one step after another",
  },
  created: { words: "Created", icon: "diamond", tone: "off", explanation: "It waits for a worker" },
  stopping: {
    words: "Stopping",
    icon: "spin",
    tone: "agent",
    explanation: "Its last step is ending",
  },
  done: { words: "Done", icon: "check", tone: "good", explanation: "It has reached its end" },
  stopped: { words: "Stopped", icon: "stop", tone: "off", explanation: "It was destroyed" },
};

/** A session that runs, and is paused once its step has ended. */
export const PAUSING: Status = {
  words: "Pausing",
  icon: "pause",
  tone: "agent",
  explanation: "It is paused once the step that is under way has ended",
};

/** How a session stands. */
export const statusOf = (state: AgentState): Status =>
  isPausing(state) ? PAUSING : STATUSES[state.status];

/** A Core of an earlier version says nothing of it. */
const isPausing = ({ status, is_pausing }: AgentState): boolean =>
  status === "running" && is_pausing === true;

export type SessionActionKind = "pause" | "resume" | "interrupt" | "input" | "destroy";

/** What is said of a session in the place of its state while an action is on its way to it. */
export const PENDING_ACTION_LABELS: Record<SessionActionKind, string> = {
  pause: "Pausing…",
  resume: "Resuming…",
  interrupt: "Telling…",
  input: "Telling…",
  destroy: "Ending…",
};

const ENDED: ReadonlySet<SessionStatus> = new Set(["stopped", "done", "error"]);

/** Whether a session is over. */
export const hasEnded = ({ status }: AgentState): boolean => ENDED.has(status);

/** Why an action can't be sent to a session now; null where it can. */
export function refusalReason(action: SessionActionKind, state: AgentState): string | null {
  const { status } = state;
  if (hasEnded(state)) return "This session has ended";
  if (status === "stopping") return "This session is ending";
  if (action === "pause" && status === "paused") return "This session is paused already";
  if (action === "pause" && isPausing(state)) return "This session is pausing already";
  if (action === "resume" && status !== "paused" && !isPausing(state))
    return "Only a paused session can be resumed";
  return null;
}

/** What the last step said, as one line; "" where it said nothing. */
export function lastMessage(state: AgentState): string {
  if (state.status === "error" && state.last_error) return oneLine(state.last_error);
  return oneLine(textOf(state.result) || (state.last_error ?? ""));
}

/** The text in a step's result `{"text", "data", "done"}`. */
function textOf(result: unknown): string {
  if (typeof result !== "object" || result === null || !("text" in result)) return "";
  return typeof result.text === "string" ? result.text : "";
}

/** What the next step will be told; null where nothing is laid down. */
export function guidanceOf({ guidance }: AgentState): string | null {
  if (guidance === null || guidance === undefined || guidance === "") return null;
  return typeof guidance === "string" ? guidance : JSON.stringify(guidance);
}

/** When something was, as short as tells it apart: "14:02" today, "Yesterday", "18 Nov". */
export function shortDate(at: number): string {
  const words = formatDate(at);
  return words.includes(" ") ? words.slice(0, words.lastIndexOf(" ")) : words;
}

/** A line holds no more than is ever seen of it. */
const MAX_LINE_CHARS = 600;

export const oneLine = (text: string): string =>
  text.slice(0, MAX_LINE_CHARS).replace(/\s+/g, " ").trim();

/** The beginning of an id, enough to tell it from others. */
export const shortId = (id: string): string => (id.length > 10 ? `${id.slice(0, 8)}…` : id);

// ---- Which sessions a list shows, and in what order. Pure.

export type Column = "state" | "agent" | "moniker" | "iteration" | "since";

export interface Sorting {
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
export const DEFAULT_SORTING: Sorting = { by: "since", down: true };

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
export function sortSessions(states: Iterable<AgentState>, { by, down }: Sorting): AgentState[] {
  const value = VALUES[by];
  const turn = down ? -1 : 1;
  return [...states].sort(
    (a, b) =>
      turn * compareValues(value(a), value(b)) ||
      b.created_at - a.created_at ||
      compareValues(a.session_id, b.session_id),
  );
}

function compareValues(a: string | number, b: string | number): number {
  if (typeof a === "string" && typeof b === "string") return COLLATOR.compare(a, b);
  return Number(a) - Number(b);
}

/** What a column is first sorted by when it is asked for. */
export function toggleSorting(order: Sorting, by: Column): Sorting {
  if (order.by === by) return { by, down: !order.down };
  return { by, down: by === "since" || by === "iteration" };
}

export function matchesSessionFilter(state: AgentState, { text, state: wanted }: Filter): boolean {
  if (wanted === "live" ? hasEnded(state) : wanted !== "" && state.status !== wanted) return false;
  const sought = text.trim().toLowerCase();
  if (sought === "") return true;
  const { agent_id, session_id, moniker } = state;
  return [agent_id, session_id, moniker, lastMessage(state)].some((each) =>
    each.toLowerCase().includes(sought),
  );
}
