import { describe, expect, test } from "vitest";
import {
  breakpointOf,
  copyAsDraft,
  draftFromBreakpoint,
  draftFromRow,
  isProblem,
  newDraft,
} from "../../src/breakpoints/draft";
import type { BreakpointRule, Run } from "../../src/protocol/types.gen";
import { aBreakpoint, aLabel, aRow, aRun } from "../helpers/values";

const RUN: Run = { ...aRun("a"), program: "agent[1].py" };
const BREAKPOINTS: BreakpointRule[] = [
  aBreakpoint("plain"),
  aBreakpoint("all", {
    program: "fix_*",
    kind: null,
    side: null,
    name: "run_*",
    on_error: true,
    condition: "args.n > 1",
    watch: { kind: "touched", path: "src/*" },
    nth: 3,
    once: true,
    enabled: false,
  }),
  aBreakpoint("tokens", { watch: { kind: "tokens", limit: 50_000 }, nth: 2 }),
  aBreakpoint("cost", { watch: { kind: "cost", limit: 0.25 }, once: true }),
  aBreakpoint("again", { watch: { kind: "repeated", times: 4, in_a_row: true } }),
  aBreakpoint("agent", { agent: "research*" }),
  aBreakpoint("anywhere", { watch: { kind: "repeated", times: 4, in_a_row: false } }),
];

describe("a breakpoint in the bar", () => {
  test.each(BREAKPOINTS)("$id comes out as it went in", (breakpoint) => {
    expect(breakpointOf(draftFromBreakpoint(breakpoint), RUN)).toEqual(breakpoint);
  });

  test("a copy is another breakpoint that says the same", () => {
    const [breakpoint = aBreakpoint("")] = BREAKPOINTS;
    const copied = breakpointOf(copyAsDraft(breakpoint), RUN);
    expect(copied).toEqual({ ...breakpoint, id: expect.not.stringMatching(/^plain$/) });
  });

  test("a new one is for the shown run's program alone, and for all where none is shown", () => {
    expect(breakpointOf(newDraft(), RUN)).toMatchObject({ program: "agent[[]1].py" });
    expect(breakpointOf(newDraft(), null)).toMatchObject({ program: "*" });
    expect(breakpointOf(newDraft({ program: "*" }), RUN)).toMatchObject({ program: "*" });
  });

  test("two new ones are two", () => {
    expect(newDraft().id).not.toBe(newDraft().id);
  });

  test("one like a row has its kind, side and name", () => {
    const label = aLabel("who*", { node: "look up" });
    const row = aRow(4, {
      kind: "tool_invocation",
      side: "end",
      name: "what?",
      label,
      outcome: "error",
    });
    const made = breakpointOf(draftFromRow(row), RUN);
    expect(made).toMatchObject({
      kind: "tool_invocation",
      side: "end",
      name: "what[?]",
      agent: "who[*]",
      on_error: true,
    });
  });
});

describe("figures", () => {
  test.each([
    ["tokens", "50,000", { kind: "tokens", limit: 50_000 }],
    ["tokens", " 50_000 ", { kind: "tokens", limit: 50_000 }],
    ["cost", "$0.50", { kind: "cost", limit: 0.5 }],
    ["cost", ".5", { kind: "cost", limit: 0.5 }],
    ["cost", "0", { kind: "cost", limit: 0 }],
    ["repeated", "", { kind: "repeated", times: 3, in_a_row: true }],
    ["recurring", "4", { kind: "repeated", times: 4, in_a_row: false }],
    ["repeated", "1000", { kind: "repeated", times: 1000, in_a_row: true }],
    ["touched", " src/*.py ", { kind: "touched", path: "src/*.py" }],
  ] as const)("%s %j", (watch, amount, wanted) => {
    expect(breakpointOf(newDraft({ watch, amount }), null)).toMatchObject({ watch: wanted });
  });

  test.each([
    ["tokens", ""],
    ["tokens", "0"],
    ["tokens", "many"],
    ["tokens", "1.5"],
    ["tokens", "9007199254740993"],
    ["cost", ""],
    ["cost", "-1"],
    ["cost", "."],
    ["cost", "1e3"],
    ["repeated", "1"],
    ["repeated", "1001"],
    ["touched", "  "],
  ] as const)("%s %j is no breakpoint yet", (watch, amount) => {
    const made = breakpointOf(newDraft({ watch, amount }), null);
    expect(isProblem(made) && made.field).toBe("amount");
  });

  test.each(["", "0", "x", "-2"])("from hit %j is no breakpoint yet", (nth) => {
    const made = breakpointOf(newDraft({ hitCountMode: "from", hitCount: nth }), null);
    expect(isProblem(made) && made.field).toBe("hitCount");
    expect(isProblem(breakpointOf(newDraft({ hitCountMode: "every", hitCount: nth }), null))).toBe(
      false,
    );
  });
});
