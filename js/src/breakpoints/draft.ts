/** The breakpoint that is being written, as its fields hold it: it needn't make sense yet. Pure. */

import { escapeGlob } from "../model/breakpoints";
import type { Debugger } from "../model/debugger";
import type { BreakpointRule, Reaction, Run, TimelineRow } from "../protocol/types.gen";

/** What a breakpoint watches; a repetition is counted in a row, or in the whole run. */
export type WatchKind = NonNullable<BreakpointRule["watch"]>["kind"] | "recurring";

/** How often it hits in a run: each time, once, from the nth match on, or at the nth alone. */
export type HitCountMode = "every" | "once" | "from" | "at";

export interface BreakpointDraft
  extends Pick<BreakpointRule, "id" | "kind" | "side" | "on_error" | "enabled"> {
  /** Whose agents it is for; null: those of the shown run's program. */
  program: string | null;
  /** "" is any. */
  name: string;
  /** The name of an agent in the program, or a pattern of names; "" is any. */
  agent: string;
  condition: string;
  watch: WatchKind | "";
  /** What the watch is told, as it is written. */
  amount: string;
  hitCountMode: HitCountMode;
  hitCount: string;
  then: Reaction;
}

/** A draft isn't a breakpoint: the field to look at, and why. */
interface DraftProblem {
  field: "amount" | "hitCount" | "name" | "condition";
  why: string;
}

const ID_BYTES = 8;

/** A new breakpoint's fields: most breakpoints are set before a tool. */
export function newDraft(fields: Partial<BreakpointDraft> = {}): BreakpointDraft {
  const bytes = crypto.getRandomValues(new Uint8Array(ID_BYTES));
  return {
    id: `breakpoint-${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`,
    program: null,
    kind: "tool_invocation",
    side: "begin",
    name: "",
    agent: "",
    on_error: false,
    condition: "",
    watch: "",
    amount: "",
    hitCountMode: "every",
    hitCount: "2",
    // biome-ignore lint/suspicious/noThenProperty: the protocol's word; a draft is never awaited
    then: "halt",
    enabled: true,
    ...fields,
  };
}

/** A breakpoint where this row is: of its kind, side, name and agent. */
export function draftFromRow({ kind, side, name, label, outcome }: TimelineRow): BreakpointDraft {
  const on_error = outcome === "error";
  const agent = escapeGlob(label?.name ?? "");
  return newDraft({ kind, side, name: escapeGlob(name ?? ""), agent, on_error });
}

/** A breakpoint's fields, to change it. */
export function draftFromBreakpoint(breakpoint: BreakpointRule): BreakpointDraft {
  const { name, agent, condition, watch, nth: hitCount, once, ...rest } = breakpoint;
  const hitCountMode = hitCount === 1 ? (once ? "once" : "every") : once ? "at" : "from";
  return {
    ...rest,
    name: name ?? "",
    agent: agent ?? "",
    condition: condition ?? "",
    watch: kindOf(watch),
    amount: watch ? amountOf(watch) : "",
    hitCountMode,
    hitCount: hitCount === 1 ? "2" : String(hitCount),
  };
}

/** The same once more, as a new breakpoint. */
export const copyAsDraft = (breakpoint: BreakpointRule): BreakpointDraft => ({
  ...draftFromBreakpoint(breakpoint),
  id: newDraft().id,
});

/** What a draft says as a breakpoint, or what it lacks. */
export function breakpointOf(
  draft: BreakpointDraft,
  run: Run | null,
): BreakpointRule | DraftProblem {
  const { id, kind, side, on_error, then, enabled } = draft;
  const agent = draft.agent.trim();
  const watch = watchOf(draft);
  if (watch && "why" in watch) return watch;
  const hitCount =
    draft.hitCountMode === "from" || draft.hitCountMode === "at" ? whole(draft.hitCount) : 1;
  if (hitCount === null || hitCount < 1)
    return { field: "hitCount", why: "Enter a hit count: 2, 3, …" };
  return {
    id,
    program: draft.program ?? (run ? escapeGlob(run.program) || "*" : "*"),
    kind,
    side,
    name: draft.name.trim() || null,
    ...(agent && { agent }),
    on_error,
    condition: draft.condition.trim() || null,
    watch,
    nth: hitCount,
    once: draft.hitCountMode === "once" || draft.hitCountMode === "at",
    then,
    enabled,
  };
}

export const isProblem = (made: BreakpointRule | DraftProblem): made is DraftProblem =>
  "why" in made;

function kindOf(watch: BreakpointRule["watch"]): WatchKind | "" {
  if (watch?.kind === "repeated" && !watch.in_a_row) return "recurring";
  return watch?.kind ?? "";
}

function amountOf(watch: NonNullable<BreakpointRule["watch"]>): string {
  if (watch.kind === "touched") return watch.path;
  return String(watch.kind === "repeated" ? watch.times : watch.limit);
}

/** The bounds are those of protocol/breakpoint_rules.py. */
function watchOf({ watch, amount }: BreakpointDraft): BreakpointRule["watch"] | DraftProblem {
  const missingReason = (why: string): DraftProblem => ({ field: "amount", why });
  switch (watch) {
    case "":
      return null;
    case "tokens": {
      const limit = whole(amount);
      return limit === null || limit < 1
        ? missingReason("Enter a number of tokens")
        : { kind: watch, limit };
    }
    case "cost": {
      const limit = dollars(amount);
      return limit === null ? missingReason("Enter a number of dollars") : { kind: watch, limit };
    }
    case "repeated":
    case "recurring": {
      const times = whole(amount || "3");
      if (times === null || times < 2 || times > 1000)
        return missingReason("Enter a number of times: 2 to 1,000");
      return { kind: "repeated", times, in_a_row: watch === "repeated" };
    }
    case "touched": {
      const path = amount.trim();
      return path === "" ? missingReason("Enter a path: src/*.py") : { kind: watch, path };
    }
  }
}

/** A whole number as people write it; null where it is none. */
function whole(text: string): number | null {
  const digits = text.replace(/[,_\s]/g, "");
  const number = Number(digits);
  return /^\d+$/.test(digits) && Number.isSafeInteger(number) ? number : null;
}

function dollars(text: string): number | null {
  const digits = text.replace(/[$,_\s]/g, "");
  const number = Number(digits);
  return /^(\d+\.?\d*|\.\d+)$/.test(digits) && number < 1e12 ? number : null;
}

// ---- From a breakpoint's hit to the row where it was.

/** Show a row of a run by its number; the strip says why where the run can't be shown. */
export async function revealRow(model: Debugger, run: string, seq: number): Promise<void> {
  if (model.run.peek()?.id !== run) await model.openRun(run);
  if (model.run.peek()?.id === run) model.reveal(seq);
}
