import { describe, expect, test } from "vitest";
import { base64, bytesOf, fileName, wireText } from "../../src/history/edit";
import { groupByRun } from "../../src/history/results";
import { durationOf, matchesFilter, outcomeOf, sortRuns, tagsOf } from "../../src/history/sorting";
import type { Run, SearchHit } from "../../src/protocol/types.gen";
import { aRun, aUsage, endedRun, haltedRun } from "../helpers/values";

const ANY = { text: "", outcome: "", tag: "" };
const ids = (runs: readonly Run[]) => runs.map(({ id }) => id).join(" ");
const usage = (input: number | null, output: number | null) => ({
  usage: aUsage(input, output),
});

describe("the order of runs", () => {
  const runs = [
    aRun("a", { name: "Run 10", started_at: 1, rows: 5, ...usage(10, 1) }),
    { ...endedRun("b"), name: "run 9", started_at: 2, ended_at: 62, rows: 5, ...usage(null, 90) },
    { ...haltedRun("c", "r1"), name: "a", started_at: 3, rows: 9 },
  ];

  test.each([
    ["name", false, "c b a"], // numbers count as numbers, whatever the letters' case
    ["state", false, "c a b"],
    ["started", true, "c b a"],
    ["events", true, "c b a"], // alike: the newest first
    ["events", false, "b a c"],
    ["tokens", true, "b a c"],
    ["duration", true, "a c b"],
  ] as const)("by %s, down: %s", (by, down, wanted) => {
    expect(ids(sortRuns(runs, { by, down }, 100))).toBe(wanted);
  });

  test("leaves what it was given as it is", () => {
    const before = ids(runs);
    sortRuns(runs, { by: "name", down: true }, 100);
    expect(ids(runs)).toBe(before);
  });
});

test("each way to stand has one word", () => {
  const idle = { state: "idle" } as const;
  expect([
    outcomeOf(haltedRun("a", "r1")),
    outcomeOf(aRun("a")),
    outcomeOf(aRun("a", { state: "detached" })),
    outcomeOf(aRun("a", { ...idle, ending: "crashed" })),
    outcomeOf(aRun("a", { ...idle, ending: null })),
  ]).toEqual(["halted", "running", "away", "crashed", "imported"]);
});

test("the filter looks at names, programs and tags, and at how a run stands", () => {
  const run = { ...endedRun("a"), name: "Fix Tests", program: "cart.py", tags: ["keep me"] };
  for (const text of ["fix", " TESTS ", "cart.p", "keep"]) {
    expect(matchesFilter(run, { ...ANY, text })).toBe(true);
  }
  expect(matchesFilter(run, { ...ANY, text: "prompt" })).toBe(false);
  expect(matchesFilter(run, { ...ANY, outcome: "finished", tag: "keep me" })).toBe(true);
  expect(matchesFilter(run, { ...ANY, outcome: "crashed" })).toBe(false);
  expect(matchesFilter(run, { ...ANY, tag: "keep" })).toBe(false);
});

test("tags of all runs by the alphabet, each once", () => {
  const tagged = (...tags: string[]) => aRun("a", { tags });
  expect(tagsOf([tagged("b", "a10"), tagged("a9", "b"), tagged()])).toEqual(["a9", "a10", "b"]);
});

test("a duration", () => {
  expect(durationOf(aRun("a", { started_at: 100 }), 90)).toBe(0); // clocks differ
});

test("what is found is told by run, as it came; runs that are gone or unwanted are left out", () => {
  const hit = (run: string, id: string): SearchHit => ({ run, place: "row", id, snippet: [] });
  const hits = [hit("b", "1"), hit("a", "2"), hit("gone", "3"), hit("b", "4"), hit("c", "5")];
  const runs = ["a", "b", "c"].map((id) => aRun(id));
  const groups = groupByRun(hits, runs, ({ id }) => id !== "c");
  expect(groups.map(({ run, hits: those }) => [run.id, those.map(({ id }) => id)])).toEqual([
    ["b", ["1", "4"]],
    ["a", ["2"]],
  ]);
});

// ---- files

describe("a file's name", () => {
  test.each([
    ["Run #3 of fix-tests", "run", "Run #3 of fix-tests.run"],
    ["fix.run", "run", "fix.run"],
    ["x", "archive", "x.agentstepper.zip"],
    ["../../etc/passwd", "run", "_.._etc_passwd.run"],
    ['a\u0000b:"c"', "run", "a_b_c_.run"],
    [" .. ", "run", "run.run"],
    ["n".repeat(300), "run", `${"n".repeat(120)}.run`],
  ] as const)("of %s", (name, format, wanted) => {
    expect(fileName({ name, format })).toBe(wanted);
  });
});

describe("a file on its way to the Core", () => {
  test("is the text that it is", async () => {
    expect(await wireText(new Blob(["eJyrVg==\n"]))).toBe("eJyrVg==");
  });

  test("is base64 where it is a zip, whatever its name", async () => {
    const bytes = new Uint8Array([0x50, 0x4b, 3, 4, 255, 0, 128]);
    expect(bytesOf(await wireText(new Blob([bytes])))).toEqual(bytes);
  });

  test("may be large", () => {
    const bytes = Uint8Array.from({ length: 200_001 }, (_, at) => at % 251);
    const back = bytesOf(base64(bytes));
    expect(back.length).toBe(bytes.length);
    expect(back.every((byte, at) => byte === bytes[at])).toBe(true);
  });
});
