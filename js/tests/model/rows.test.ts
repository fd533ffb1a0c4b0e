import { describe, expect, test } from "vitest";
import { PAGE, pageOf, Rows } from "../../src/model/rows";
import { aRow, rowsTo } from "../helpers/values";

const seqs = (rows: Rows) => rows.all.map(({ seq }) => seq);
const long = (length: number, ...here: number[]) =>
  Rows.NONE.with(
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
    const before = Rows.NONE.with(rowsTo(3));
    const after = before.with([aRow(2, { edited: true }), aRow(4)]);
    expect([before.length, before.at(2)?.edited]).toEqual([3, false]);
    expect([after.length, after.at(2)?.edited]).toEqual([4, true]);
    expect(before.with([])).toBe(before);
  });

  test("are at least as many as are here, and as the run is said to have", () => {
    expect(Rows.NONE.with(rowsTo(5), 2).length).toBe(5);
    expect(Rows.NONE.with(rowsTo(5), 9).length).toBe(9);
    expect(Rows.NONE.with(rowsTo(5), 9).with([]).length).toBe(9);
  });

  test("that went are missing again", () => {
    const rows = Rows.NONE.with(rowsTo(3 * PAGE)).without([pageOf(PAGE + 1)]);
    expect(rows.length).toBe(3 * PAGE);
    expect(rows.missing([PAGE, PAGE + 1, PAGE + 2, 2 * PAGE + 1])).toEqual([
      { first: PAGE + 1, last: PAGE + 2 },
    ]);
  });

  test("that a Core has lost are no longer part of the run", () => {
    const rows = Rows.NONE.with(rowsTo(250)).cut(120);
    expect([rows.length, rows.at(121), rows.complete]).toEqual([120, null, true]);
  });

  test("that are missing near to each other are one range", () => {
    expect(long(100, 5).missing([3, 4, 5, 6, 30, 101], 10)).toEqual([
      { first: 3, last: 6 },
      { first: 30, last: 30 },
    ]);
  });
});
