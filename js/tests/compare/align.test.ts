import { expect, test } from "vitest";
import {
  align,
  compare,
  differenceOf,
  forkLinks,
  idOf,
  nextDifference,
  type Pair,
} from "../../src/compare/align";
import type { MessageBody, TimelineRow } from "../../src/model/model";
import type { ReplayRole } from "../../src/protocol/types.gen";
import { aBody, aRow } from "../helpers/values";
import { seeded } from "../inspector/random_json";

/** Rows told by letters: what they do is the letter, what they say the digit behind it. */
function rowsOf(text: string): TimelineRow[] {
  return (text.match(/[a-z]\d?/g) ?? []).map((told, at) =>
    aRow(at + 1, { kind: "tool_invocation", name: told.charAt(0), summary: told }),
  );
}

const told = (row: TimelineRow | null) => row?.summary ?? ".";
const lines = (pairs: readonly Pair[]) =>
  pairs.map(({ left, right }) => `${told(left)}|${told(right)}`).join(" ");

test.each([
  ["", "", ""],
  ["ab", "", "a|. b|."],
  ["", "ab", ".|a .|b"],
  ["abc", "abc", "a|a b|b c|c"],
  ["abc", "abxc", "a|a b|b .|x c|c"],
  ["abxc", "abc", "a|a b|b x|. c|c"],
  ["axc", "ayc", "a|a x|. .|y c|c"],
  ["a1b1", "a2b1", "a1|a2 b1|b1"], // what they say may differ
])("%s beside %s", (left, right, expected) => {
  expect(lines(align(rowsOf(left), rowsOf(right)))).toBe(expected);
});

test("of rows alike those that say the same stand together", () => {
  expect(lines(align(rowsOf("xa1a2y"), rowsOf("va2w")))).toBe("x|. a1|. .|v a2|a2 y|. .|w");
});

test("the half, the depth and the kind are part of what is done", () => {
  const row = aRow(1, { summary: "s" });
  for (const other of [{ side: "end" }, { depth: 1 }, { kind: "custom" }, { name: "x" }] as const) {
    expect(align([row], [aRow(1, { summary: "s", ...other })]).length).toBe(2);
  }
});

/** Rolls dice of any number of sides: the same at each test. */
function dice(seed: number): (sides: number) => number {
  const random = seeded(seed);
  return (sides) => Math.floor(random() * sides);
}

function randomRun(
  roll: (sides: number) => number,
  length: number,
  letters: number,
): TimelineRow[] {
  const one = () => `${"abcdefghijklmnopqrst".charAt(roll(letters))}${roll(3)}`;
  return rowsOf(Array.from({ length }, one).join(""));
}

/** The length of the longest common subsequence, told plainly. */
function longest(left: readonly TimelineRow[], right: readonly TimelineRow[]): number {
  let before = new Array<number>(right.length + 1).fill(0);
  for (const { name } of left) {
    const now = [0];
    right.forEach((other, at) => {
      const alike = name === other.name ? (before[at] ?? 0) + 1 : 0;
      now.push(Math.max(alike, before[at + 1] ?? 0, now[at] ?? 0));
    });
    before = now;
  }
  return before.at(-1) ?? 0;
}

const both = (pairs: readonly Pair[]) => pairs.filter(({ left, right }) => left && right);
const side = (pairs: readonly Pair[], name: "left" | "right") =>
  pairs.map((pair) => pair[name]).filter((row) => row !== null);

test("random runs keep all rows in order, and as many as can be stand together", () => {
  const roll = dice(7);
  for (let round = 0; round < 300; round += 1) {
    const letters = 1 + roll(5);
    const left = randomRun(roll, roll(14), letters);
    const right = randomRun(roll, roll(14), letters);
    const pairs = align(left, right);
    expect(side(pairs, "left")).toEqual(left);
    expect(side(pairs, "right")).toEqual(right);
    for (const { left: one, right: other } of both(pairs)) expect(one?.name).toBe(other?.name);
    expect(both(pairs).length).toBe(longest(left, right));
  }
});

test("window by window all rows are kept in order, and near changes are found as before", () => {
  const roll = dice(11);
  for (let round = 0; round < 40; round += 1) {
    const left = randomRun(roll, 60 + roll(60), 6);
    // The same run, a few of its rows gone and a few put in.
    const right = left.flatMap((row) => {
      const die = roll(20);
      return die === 0 ? [] : die === 1 ? [row, ...randomRun(roll, 1, 6)] : [row];
    });
    const pairs = align(left, right, { maxCells: 100, window: 24 });
    expect(side(pairs, "left")).toEqual(left);
    expect(side(pairs, "right")).toEqual(right);
    for (const { left: one, right: other } of both(pairs)) expect(one?.name).toBe(other?.name);
    expect(both(pairs).length).toBeGreaterThanOrEqual(0.9 * longest(left, right));
  }
});

test("runs with nothing in common end, whatever their lengths", () => {
  const [left, right] = [rowsOf("a".repeat(90)), rowsOf("b".repeat(7))];
  expect(align(left, right, { maxCells: 10, window: 4 }).length).toBe(97);
  expect(align(right, left, { maxCells: 10, window: 4 }).length).toBe(97);
});

// ---- pairs

const NONE = new Map();
const row = aRow(1, { summary: "read_file(a)", size: 12 });
const body = (data: string, edit: string | null = null): MessageBody => aBody("r1", { data, edit });

test("a row that only one run has", () => {
  expect(differenceOf({ left: row, right: null }, NONE)).toBe("left");
  expect(differenceOf({ left: null, right: row }, NONE)).toBe("right");
});

test.each<[string, Partial<TimelineRow>]>([
  ["another summary", { summary: "read_file(b)" }],
  ["another size", { size: 13 }],
  ["another outcome", { outcome: "error" }],
  ["another error", { failure: { type: "E", message: "" } }],
  ["an edit", { edited: true }],
  ["a stop", { answer: "stop" }],
])("%s is a difference before any contents are read", (_, fields) => {
  expect(differenceOf({ left: row, right: aRow(1, { ...row, ...fields }) }, NONE)).toBe("changed");
});

test("times and numbers are no difference", () => {
  const later = aRow(9, { ...row, id: "x", seq: 9, event: "e9", at: 5, duration: 3 });
  expect(differenceOf({ left: row, right: later }, NONE)).toBe("same");
});

test("contents have the last word", () => {
  const pair = { left: row, right: aRow(2, { ...row, id: "y" }) };
  expect(differenceOf(pair, new Map([[idOf(pair), "changed"]]))).toBe("changed");
  const apart = { left: row, right: aRow(2, { ...row, summary: "by a model" }) };
  expect(differenceOf(apart, new Map([[idOf(apart), "same"]]))).toBe("same");
});

test("contents are compared as the agent went on with them", () => {
  expect(compare([row, row], [body("1"), body("1")])).toBe("same");
  expect(compare([row, row], [body("1"), body("2")])).toBe("changed");
  expect(compare([row, row], [body("1"), body("2", "1")])).toBe("same");
  expect(compare([row, row], [body("1", "null"), body("1")])).toBe("changed");
  const failed = aRow(1, { ...row, outcome: "error" });
  expect(compare([row, failed], [body("1"), body("1")])).toBe("changed");
});

test("from difference to difference, and no further than the last", () => {
  const differences = ["same", "left", "same", "same", "changed", "same"] as const;
  expect(nextDifference(differences, -1, 1)).toBe(1);
  expect(nextDifference(differences, 1, 1)).toBe(4);
  expect(nextDifference(differences, 4, 1)).toBeNull();
  expect(nextDifference(differences, 5, -1)).toBe(4);
  expect(nextDifference(differences, 1, -1)).toBeNull();
});

// ---- A fork beside the run that it is a fork of.

/** The rows of an event of a fork: its begin with a mark, and its end. */
function forked(
  seq: number,
  event: string,
  role: ReplayRole,
  of: string,
  end = "x",
): TimelineRow[] {
  const replay = { role, event: of, note: "", halts: false };
  const shared = { kind: "tool_invocation", name: "ls", event } as const;
  return [
    aRow(seq, { ...shared, summary: "ls(a)", replay }),
    aRow(seq + 1, { ...shared, side: "end", summary: end }),
  ];
}

/** The same of a run that is no fork. */
const recorded = (seq: number, event: string, end = "x", more: Partial<TimelineRow> = {}) =>
  forked(seq, event, "live", "", end).map(({ replay: _, ...row }) => ({ ...row, ...more }));

test.each([false, true])(
  "a fork's rows stand beside those that they are: mirrored %s",
  (mirrored) => {
    // Equal calls, of which the first was made by another task and is served later.
    const parent = [...recorded(1, "p1"), ...recorded(3, "p2"), ...recorded(5, "p3")];
    const fork = [...forked(1, "f2", "served", "p2"), ...forked(3, "f3", "forked", "p3", "y")];
    const [left, right] = mirrored ? [fork, parent] : [parent, fork];
    const events = (row: TimelineRow | null) => row?.event ?? ".";
    const pairs = align(left, right).map((pair) => `${events(pair.left)}|${events(pair.right)}`);
    const expected = ["p1|.", "p1|.", "p2|f2", "p2|f2", "p3|f3", "p3|f3"];
    const swap = (pair: string) => pair.split("|").reverse().join("|");
    expect(pairs).toEqual(mirrored ? expected.map(swap) : expected);
  },
);

test("the first difference of a fork is where it was forked", () => {
  // A person had edited the first outcome of the parent: the fork's is the same, unedited.
  const parent = [...recorded(1, "p1", "x", { edited: true, size: 7 }), ...recorded(3, "p2")];
  const fork = [...forked(1, "f1", "served", "p1"), ...forked(3, "f2", "forked", "p2", "y")];
  const { served } = forkLinks(parent, fork);
  const differences = align(parent, fork).map((pair) => differenceOf(pair, new Map(), served));
  expect(differences).toEqual(["same", "same", "same", "changed"]);
  expect(nextDifference(differences, -1, 1)).toBe(3);
});

test("an end at which a run was forked is none that was served", () => {
  const [begin, end] = forked(1, "f1", "served", "p1");
  const replay = { role: "forked", event: "p1", note: "", halts: false } as const;
  const fork = [begin, { ...end, replay, summary: "y" }] as TimelineRow[];
  const parent = recorded(1, "p1");
  const { served } = forkLinks(parent, fork);
  const differences = align(parent, fork).map((pair) => differenceOf(pair, new Map(), served));
  expect(differences).toEqual(["same", "changed"]);
});

test("marks that name no event of the other run link nothing", () => {
  const { events } = forkLinks(recorded(1, "p1"), forked(1, "f1", "served", "elsewhere"));
  expect(events.size).toBe(0);
});
