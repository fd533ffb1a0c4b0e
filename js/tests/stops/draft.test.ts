import { describe, expect, test } from "vitest";
import type { BreakpointRule, Run } from "../../src/protocol/types.gen";
import { copyOf, draftLike, draftOf, freshDraft, isLack, stopOf } from "../../src/stops/draft";
import { aRow, aRun, aStop } from "../helpers/values";

const RUN: Run = { ...aRun("a"), program: "agent[1].py" };
const STOPS: BreakpointRule[] = [
  aStop("plain"),
  aStop("all", {
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
  aStop("tokens", { watch: { kind: "tokens", limit: 50_000 }, nth: 2 }),
  aStop("cost", { watch: { kind: "cost", limit: 0.25 }, once: true }),
  aStop("again", { watch: { kind: "repeated", times: 4, in_a_row: true } }),
  aStop("anywhere", { watch: { kind: "repeated", times: 4, in_a_row: false } }),
];

describe("a stop in the bar", () => {
  test.each(STOPS)("$id comes out as it went in", (stop) => {
    expect(stopOf(draftOf(stop), RUN)).toEqual(stop);
  });

  test("a copy is another stop that says the same", () => {
    const [stop = aStop("")] = STOPS;
    const copied = stopOf(copyOf(stop), RUN);
    expect(copied).toEqual({ ...stop, id: expect.not.stringMatching(/^plain$/) });
  });

  test("a new one is for the shown run's program alone, and for all where none is shown", () => {
    expect(stopOf(freshDraft(), RUN)).toMatchObject({ program: "agent[[]1].py" });
    expect(stopOf(freshDraft(), null)).toMatchObject({ program: "*" });
    expect(stopOf(freshDraft({ program: "*" }), RUN)).toMatchObject({ program: "*" });
  });

  test("two new ones are two", () => {
    expect(freshDraft().id).not.toBe(freshDraft().id);
  });

  test("one like a row has its kind, side and name", () => {
    const row = aRow(4, { kind: "tool_invocation", side: "end", name: "what?", outcome: "error" });
    const made = stopOf(draftLike(row), RUN);
    expect(made).toMatchObject({
      kind: "tool_invocation",
      side: "end",
      name: "what[?]",
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
    expect(stopOf(freshDraft({ watch, amount }), null)).toMatchObject({ watch: wanted });
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
  ] as const)("%s %j is no stop yet", (watch, amount) => {
    const made = stopOf(freshDraft({ watch, amount }), null);
    expect(isLack(made) && made.field).toBe("amount");
  });

  test.each(["", "0", "x", "-2"])("from match %j is no stop yet", (nth) => {
    const made = stopOf(freshDraft({ often: "from", nth }), null);
    expect(isLack(made) && made.field).toBe("nth");
    expect(isLack(stopOf(freshDraft({ often: "every", nth }), null))).toBe(false);
  });
});
