import { expect, test } from "vitest";
import {
  foldCommit,
  foldNote,
  foldRows,
  foldRun,
  replaceCommit,
  rowOf,
} from "../../src/model/fold";
import { aCommit, aNote, aRow, aRun, rowsTo } from "../helpers/values";

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

test("a commit that is put into a sentence keeps its place", () => {
  const commits = [aCommit("x"), aCommit("y")];
  const next = replaceCommit(commits, aCommit("x", { sentence: "It rounds once." }));
  expect(next.map(({ sentence }) => sentence)).toEqual(["It rounds once.", null]);
  expect(replaceCommit(commits, aCommit("z"))).toBe(commits);
});

test("a note replaces the one beside the same row; without text it is gone", () => {
  const first = foldNote(new Map(), aNote("r1", "one"));
  const notes = foldNote(foldNote(first, aNote("r2", "two")), aNote("r1", "else"));
  expect([...notes.values()].map(({ text }) => text)).toEqual(["else", "two"]);
  expect([...foldNote(notes, aNote("r1", "")).keys()]).toEqual(["r2"]);
});
