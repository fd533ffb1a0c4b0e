/** Which runs the list shows, and in which order. Pure. */
import type { Column, Order, RunFilter } from "../model/history";
import type { Run } from "../model/model";
import { runTokens } from "../view/figures";

/** How a run stands, in one word: what the list is narrowed to. The order is that of sorting. */
const OUTCOMES = {
  halted: "Halted",
  running: "Running",
  away: "Agent away",
  crashed: "Crashed",
  lost: "Lost",
  stopped: "Stopped",
  finished: "Finished",
  imported: "Imported",
} as const;

export type Outcome = keyof typeof OUTCOMES;

/** The words of each outcome, in the order of sorting. */
export const OUTCOME_WORDS = Object.entries(OUTCOMES) as [Outcome, string][];
const RANKS = new Map(OUTCOME_WORDS.map(([outcome], rank) => [outcome, rank]));

/** How a run stands. */
export function outcomeOf({ state, ending }: Run): Outcome {
  if (state === "idle") return ending ?? "imported"; // a file of version 1 doesn't say
  if (state === "halted") return "halted";
  return state === "detached" ? "away" : "running";
}

/** How long a run has taken, in seconds. */
export function durationOf({ started_at, ended_at }: Run, now: number): number {
  return Math.max(0, (ended_at ?? now) - started_at);
}

/** The tags of all runs, by the alphabet. */
export function tagsOf(runs: readonly Run[]): string[] {
  return [...new Set(runs.flatMap(({ tags }) => tags))].sort(collator.compare);
}

/** Whether a run is among those that are wanted. */
export function matchesFilter(run: Run, { text, outcome, tag }: RunFilter): boolean {
  if (outcome !== "" && outcomeOf(run) !== outcome) return false;
  if (tag !== "" && !run.tags.includes(tag)) return false;
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return true;
  const { name, program, tags } = run;
  return [name, program, ...tags].some((each) => each.toLowerCase().includes(wanted));
}

const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

type Compare = (a: Run, b: Run) => number;

const COMPARE: Record<Column, (now: number) => Compare> = {
  name: () => (a, b) => collator.compare(a.name, b.name),
  state: () => by((run) => RANKS.get(outcomeOf(run)) ?? 0),
  started: () => by((run) => run.started_at),
  events: () => by((run) => run.rows),
  tokens: () => by((run) => runTokens(run)?.count ?? -1),
  duration: (now) => by((run) => durationOf(run, now)),
};

const by =
  (figure: (run: Run) => number): Compare =>
  (a, b) =>
    figure(a) - figure(b);

/** Runs in order; alike ones the newest first. */
export function sortRuns(runs: readonly Run[], { by: column, down }: Order, now: number): Run[] {
  const compare = COMPARE[column](now);
  const sign = down ? -1 : 1;
  return runs.toSorted((a, b) => sign * compare(a, b) || b.started_at - a.started_at);
}
