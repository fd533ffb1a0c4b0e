import { expect, test } from "vitest";
import { reselect } from "../../src/model/whereabouts";
import { aRow, pendingRow, rowsTo } from "../helpers/values";

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
