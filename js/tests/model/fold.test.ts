import { expect, test } from "vitest";
import { foldCommit, foldRows, foldRun, rowOf } from "../../src/model/fold";
import { aCommit, aRow, aRun, rowsTo } from "../helpers/values";

const seqs = (rows: readonly { seq: number }[]) => rows.map(({ seq }) => seq);

test("new rows come last, changed ones in their place", () => {
  const rows = rowsTo(3);
  const next = foldRows(rows, [aRow(4), aRow(2, { edited: true }), aRow(5)]);
  expect(seqs(next)).toEqual([1, 2, 3, 4, 5]);
  expect(next[1]?.edited).toBe(true);
  expect(rows[1]?.edited).toBe(false);
});

test("a row that comes late finds its place", () => {
  expect(seqs(foldRows([aRow(1), aRow(4)], [aRow(3), aRow(2)]))).toEqual([1, 2, 3, 4]);
  expect(seqs(foldRows([aRow(2)], [aRow(1)]))).toEqual([1, 2]);
});

test("nothing changed is the same array", () => {
  const rows = rowsTo(2);
  expect(foldRows(rows, [])).toBe(rows);
});

test("a row is found by its id", () => {
  expect(rowOf(rowsTo(3), "r2")?.seq).toBe(2);
  expect(rowOf(rowsTo(3), "r9")).toBeNull();
  expect(rowOf(rowsTo(3), null)).toBeNull();
});

test("a run's header replaces the one before", () => {
  const runs = foldRun(foldRun([], aRun("a")), aRun("b"));
  expect(foldRun(runs, aRun("a", { name: "new" })).map(({ name }) => name)).toEqual([
    "new",
    "run b",
  ]);
});

test("a commit that a snapshot had isn't added again", () => {
  const commits = foldCommit([], aCommit("x"));
  expect(foldCommit(commits, aCommit("x"))).toBe(commits);
});
