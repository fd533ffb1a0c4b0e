import { describe, expect, test } from "vitest";
import {
  foldCommit,
  foldNote,
  foldRun,
  PAGE_ROWS,
  pageOf,
  Rows,
  replaceCommit,
  rowOf,
} from "../../src/model/rows";
import { reselect } from "../../src/model/view_state";
import { aCommit, aNote, aRow, aRun, pendingRow, rowsTo } from "../helpers/values";

const seqs = (rows: Rows) => rows.all.map(({ seq }) => seq);
const long = (length: number, ...here: number[]) =>
  Rows.NONE.merge(
    here.map((seq) => aRow(seq)),
    length,
  );

describe("rows", () => {
  test("have their places before they are here", () => {
    const rows = long(1000, 1000, 400, 1);
    expect([rows.length, rows.complete]).toEqual([1000, false]);
    expect(seqs(rows)).toEqual([1, 400, 1000]);
    expect(rows.at(400)?.id).toBe("r400");
    expect(rows.at(401)).toBeNull();
    expect(rows.find("r400")?.seq).toBe(400);
    expect([rows.find("r401"), rows.find(null)]).toEqual([null, null]);
  });

  test("are a new value when they change, and the old one stays as it was", () => {
    const before = Rows.NONE.merge(rowsTo(3));
    const after = before.merge([aRow(2, { edited: true }), aRow(4)]);
    expect([before.length, before.at(2)?.edited]).toEqual([3, false]);
    expect([after.length, after.at(2)?.edited]).toEqual([4, true]);
    expect(before.merge([])).toBe(before);
  });

  test("are at least as many as are here, and as the run is said to have", () => {
    expect(Rows.NONE.merge(rowsTo(5), 2).length).toBe(5);
    expect(Rows.NONE.merge(rowsTo(5), 9).length).toBe(9);
    expect(Rows.NONE.merge(rowsTo(5), 9).merge([]).length).toBe(9);
  });

  test("that went are missing again", () => {
    const rows = Rows.NONE.merge(rowsTo(3 * PAGE_ROWS)).withoutPages([pageOf(PAGE_ROWS + 1)]);
    expect(rows.length).toBe(3 * PAGE_ROWS);
    expect(rows.missing([PAGE_ROWS, PAGE_ROWS + 1, PAGE_ROWS + 2, 2 * PAGE_ROWS + 1])).toEqual([
      { first: PAGE_ROWS + 1, last: PAGE_ROWS + 2 },
    ]);
  });

  test("that a Core has lost are no longer part of the run", () => {
    const rows = Rows.NONE.merge(rowsTo(250)).truncate(120);
    expect([rows.length, rows.at(121), rows.complete]).toEqual([120, null, true]);
  });

  test("that are missing near to each other are one range", () => {
    expect(long(100, 5).missing([3, 4, 5, 6, 30, 101], 10)).toEqual([
      { first: 3, last: 6 },
      { first: 30, last: 30 },
    ]);
  });
});

// ---- fold

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

// ---- selection

const situation = {
  rows: [...rowsTo(3), pendingRow(4)],
  pending: [pendingRow(4)],
  selection: { row: "r3", picked: false },
  follow: true,
  drafted: false,
};

test("a halt takes the selection along", () => {
  expect(reselect(situation)).toEqual({ row: "r4", picked: false });
});

test("with Follow on also from a row that the person picked", () => {
  const selection = { row: "r1", picked: true };
  expect(reselect({ ...situation, selection })).toEqual({ row: "r4", picked: false });
});

test("not from a row that was picked with Follow off", () => {
  const selection = { row: "r1", picked: true };
  expect(reselect({ ...situation, selection, follow: false })).toBe(selection);
});

test("not from an unsent edit", () => {
  expect(reselect({ ...situation, drafted: true })).toBe(situation.selection);
});

test("not from another row that waits", () => {
  const rows = [pendingRow(1), pendingRow(2)];
  const selection = { row: "r2", picked: false };
  expect(reselect({ ...situation, rows, pending: rows, selection })).toBe(selection);
});

test("nothing moves where nothing halts", () => {
  expect(reselect({ ...situation, pending: [] })).toBe(situation.selection);
});

test("a run just opened shows what waits longest, else its last row", () => {
  const selection = { row: null, picked: false };
  const rows = [aRow(1), pendingRow(2), pendingRow(3)];
  expect(reselect({ ...situation, rows, pending: rows.slice(1), selection }).row).toBe("r2");
  expect(reselect({ ...situation, rows, pending: [], selection }).row).toBe("r3");
  expect(reselect({ ...situation, rows: [], pending: [], selection }).row).toBeNull();
});
