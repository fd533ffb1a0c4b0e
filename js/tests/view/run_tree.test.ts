/** Runs below those that they were started again from. */
import { expect, test } from "vitest";
import { asTree } from "../../src/view/runs/list";
import { originWords } from "../../src/view/runs/origin";
import { aRun } from "../helpers/values";

const forkOf = (id: string, run: string, row?: number) =>
  aRun(id, { forked_from: { run, is_live: false, ...(row ? { row } : {}) } });

const shapeOf = (runs: Parameters<typeof asTree>[0]) =>
  asTree(runs).map(({ run, depth }) => `${"-".repeat(depth)}${run.id}`);

test("forks stand below their parent, newest first", () => {
  const runs = [forkOf("d", "b"), aRun("other", {}), forkOf("c", "a", 4), forkOf("b", "a", 2)];
  expect(shapeOf([...runs, aRun("a", {})])).toEqual(["other", "a", "-c", "-b", "--d"]);
});

test("a run whose parent isn't here stands alone", () => {
  expect(shapeOf([forkOf("b", "gone", 2)])).toEqual(["b"]);
});

test("what an import says of itself loses no run", () => {
  expect(shapeOf([forkOf("a", "b"), forkOf("b", "a"), forkOf("c", "c")])).toEqual(["c", "a", "b"]);
});

test("the depth has an end", () => {
  const chain = Array.from({ length: 8 }, (_, at) => forkOf(`r${at}`, `r${at - 1}`));
  expect(asTree(chain).at(-1)?.depth).toBe(4);
});

test.each([
  [forkOf("a", "b", 7), "fork at row 7"],
  [forkOf("a", "b"), "replay"],
  [aRun("a", { forked_from: { run: "b", is_live: true } }), "run again"],
  [aRun("a", {}), ""],
])("how it was started again, in words", (run, words) => {
  expect(originWords(run)).toBe(words);
});
