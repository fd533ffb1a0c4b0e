/** How far a step goes, and what is said of it. Pure. */
import type { EventKind, StepKind, StepTarget, TimelineRow } from "../protocol/types.gen";
import type { Run } from "./model";

/** How far a person wants to step. */
export interface StepGoal {
  readonly kind: StepKind;
  /** Of a step to a halt point: what that has; absent: any. */
  readonly eventKind?: EventKind;
  readonly side?: "begin" | "end";
  readonly name?: string | null;
  /** Whether a step to a halt point halts in any agent, and not only in the one that steps. */
  readonly anywhere?: boolean;
}

export const INTO: StepGoal = { kind: "into" };
export const OVER: StepGoal = { kind: "over" };
export const OUT: StepGoal = { kind: "out" };
export const TO_QUERY: StepGoal = { kind: "to", eventKind: "llm_query", side: "begin" };
export const TO_TOOL: StepGoal = { kind: "to", eventKind: "tool_invocation", side: "begin" };

/** A step to the next halt point like a row; null where the run can't halt there again. */
export function goalLike(row: TimelineRow | null): StepGoal | null {
  const recurs = row?.side && row.kind !== "program_started" && row.kind !== "program_finished";
  if (!recurs || !row.side) return null;
  return { kind: "to", eventKind: row.kind, side: row.side, name: row.name, anywhere: true };
}

/** A goal as the Core takes it. */
export function stepTarget(goal: StepGoal, freezesOthers: boolean): StepTarget {
  return {
    kind: goal.kind,
    ...(goal.anywhere ? { scope: [] } : {}),
    freeze_others: freezesOthers,
    event: null,
    depth: null,
    event_kind: goal.eventKind ?? null,
    side: goal.side ?? null,
    name: goal.name ?? null,
    point: null,
  };
}

/** "run_tests begins", "the LLM query ends": what a goal's halt point is, to follow "next". */
export function goalWords({ eventKind, name, side }: StepGoal): string {
  const what = name || eventWords(eventKind ?? null);
  return `${side === "end" ? "end of " : ""}${what}`;
}

/** How far a run steps: "Stepping over run_tests…"; "" where it halts at its next event. */
export function stepWords({ step, state }: Pick<Run, "step" | "state">): string {
  if (!step || state !== "step") return "";
  const what = step.name || eventWords(step.event_kind);
  switch (step.kind) {
    case "over":
      return step.event === null ? "" : `Stepping over ${what}…`;
    case "out":
      return step.event === null ? "Stepping out to the end…" : `Stepping out of ${what}…`;
    case "to":
      return `Running to the next ${step.side === "end" ? "end of " : ""}${what}…`;
    default:
      return "";
  }
}

function eventWords(kind: EventKind | null): string {
  if (kind === "llm_query") return "LLM query";
  return kind === "tool_invocation" ? "tool call" : "event";
}
