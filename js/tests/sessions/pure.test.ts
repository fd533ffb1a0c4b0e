/** Sorting, filtering, keys and words of the list of sessions. */
import { expect, test } from "vitest";
import type { AgentState } from "../../src/protocol/runtime.gen";
import { nameTitle } from "../../src/sessions/row";
import {
  type Column,
  DEFAULT_SORTING,
  guidanceOf,
  lastMessage,
  matchesSessionFilter,
  oneLine,
  refusalReason,
  shortId,
  sortSessions,
  statusOf,
  toggleSorting,
} from "../../src/sessions/status";
import { keyAction } from "../../src/sessions/table";
import { lineIndexForKey } from "../../src/view/focus";
import { aState } from "../helpers/runtime";

const STATES = [
  aState("a", { agent_id: "joker-10", status: "done", iteration: 9, created_at: 1, moniker: "x" }),
  aState("b", { agent_id: "joker-2", status: "paused", iteration: 2, created_at: 3, moniker: "y" }),
  aState("c", { agent_id: "Joker-2", status: "error", iteration: 9, created_at: 2, moniker: "x" }),
];

test.each<[Column, string, string]>([
  ["since", "bca", "acb"],
  ["state", "abc", "cba"],
  ["agent", "abc", "bca"],
  ["moniker", "bca", "cab"],
  ["iteration", "cab", "bca"],
])("sorted by %s: newest first of those that are alike", (by, down, up) => {
  const order = (turn: boolean) =>
    sortSessions(STATES, { by, down: turn })
      .map(({ session_id }) => session_id)
      .join("");
  expect([order(true), order(false)]).toEqual([down, up]);
});

test("a column asked for again turns around; figures begin with the largest", () => {
  expect(toggleSorting(DEFAULT_SORTING, "since")).toEqual({ by: "since", down: false });
  expect(toggleSorting(DEFAULT_SORTING, "agent")).toEqual({ by: "agent", down: false });
  expect(toggleSorting(DEFAULT_SORTING, "iteration")).toEqual({ by: "iteration", down: true });
});

test.each([
  [{ text: "", state: "" }, "abc"],
  [{ text: " JOKER-2 ", state: "" }, "bc"],
  [{ text: "words of b", state: "" }, "b"],
  [{ text: "", state: "live" }, "b"],
  [{ text: "joker", state: "error" }, "c"],
  [{ text: "joker-10", state: "error" }, ""],
] as const)("the filter %j leaves %s", (filter, left) => {
  const found = STATES.filter((state) => matchesSessionFilter(state, filter));
  expect(found.map(({ session_id }) => session_id).join("")).toBe(left);
});

const NO = { altKey: false, ctrlKey: false, metaKey: false };

test.each([
  ["ArrowDown", {}, { kind: "go", to: 6 }],
  ["PageUp", {}, { kind: "go", to: -5 }],
  ["Home", {}, { kind: "go", to: 0 }],
  ["Enter", {}, { kind: "select" }],
  [" ", {}, { kind: "choose" }],
  ["o", {}, { kind: "open" }],
  ["Delete", {}, { kind: "action", action: "destroy" }],
  ["i", {}, { kind: "action", action: "interrupt" }],
  ["a", { ctrlKey: true }, { kind: "all" }],
  ["p", { ctrlKey: true }, null],
  ["p", { altKey: true }, null],
  ["x", {}, null],
])("the key %j with %j means %j", (key, held, means) => {
  expect(keyAction({ key, ...NO, ...held }, lineIndexForKey(key, 5, 10))).toEqual(means);
});

test("last words are one line of what the last step gave, or why it failed", () => {
  expect(lastMessage(aState("a", { result: { text: "one\n  two" } }))).toBe("one two");
  expect(lastMessage(aState("a", { result: null }))).toBe("");
  expect(lastMessage(aState("a", { result: [1] }))).toBe("");
  const failed = { status: "error", last_error: "it broke" } as const;
  expect(lastMessage(aState("a", failed))).toBe("it broke");
  expect(oneLine("x".repeat(100_000))).toHaveLength(600);
  expect(shortId("0198f1c2-7d10-7000")).toBe("0198f1c2…");
});

test("a session's tooltip says what it was created with", () => {
  const named = nameTitle(aState("a", { agent_id: "ann", config: { subject: "otters" } }));
  expect(named).toContain("Agent ann\nSession a\n");
  expect(named.split("\n").at(-1)).toBe('Config {"subject":"otters"}');
  expect(nameTitle(aState("a", { config: null }))).not.toContain("Config");
});

test("guidance is shown as it is, whatever it is made of", () => {
  expect(guidanceOf(aState("a", { guidance: "lions" }))).toBe("lions");
  expect(guidanceOf(aState("a", { guidance: ["x", 1] }))).toBe('["x",1]');
  expect(guidanceOf(aState("a"))).toBe(null);
});

test("actions that a session can't take say why", () => {
  const by = (order: Parameters<typeof refusalReason>[0], status: "paused" | "stopping" | "done") =>
    refusalReason(order, aState("a", { status }));
  expect(by("pause", "paused")).toBe("This session is paused already");
  expect(by("interrupt", "paused")).toBe(null);
  expect(by("destroy", "stopping")).toBe("This session is ending");
  expect(by("destroy", "done")).toBe("This session has ended");
});

test("a session whose step is to end before it is paused says so, and may go on", () => {
  const pausing = aState("a", { is_pausing: true });
  expect(statusOf(pausing).words).toBe("Pausing");
  expect(refusalReason("pause", pausing)).toBe("This session is pausing already");
  expect(refusalReason("resume", pausing)).toBe(null);
  const { is_pausing: _, ...older } = aState("a"); // as a Core of an earlier version says it
  expect(statusOf(older as AgentState).words).toBe("Running");
  expect(refusalReason("pause", older as AgentState)).toBe(null);
});
