import { expect, test } from "vitest";
import { compare, idOf, nextDifference, verdictOf } from "../../src/compare/align";
import type { MessageBody, Row } from "../../src/model/model";
import { aBody, aRow } from "../helpers/values";

const NONE = new Map();
const row = aRow(1, { summary: "read_file(a)", size: 12 });
const body = (data: string, edit: string | null = null): MessageBody => aBody("r1", { data, edit });

test("a row that only one run has", () => {
  expect(verdictOf({ left: row, right: null }, NONE)).toBe("left");
  expect(verdictOf({ left: null, right: row }, NONE)).toBe("right");
});

test.each<[string, Partial<Row>]>([
  ["another summary", { summary: "read_file(b)" }],
  ["another size", { size: 13 }],
  ["another outcome", { outcome: "error" }],
  ["another error", { failure: { type: "E", message: "" } }],
  ["an edit", { edited: true }],
  ["a stop", { answer: "stop" }],
])("%s is a difference before any contents are read", (_, fields) => {
  expect(verdictOf({ left: row, right: aRow(1, { ...row, ...fields }) }, NONE)).toBe("changed");
});

test("times and numbers are no difference", () => {
  const later = aRow(9, { ...row, id: "x", seq: 9, event: "e9", at: 5, duration: 3 });
  expect(verdictOf({ left: row, right: later }, NONE)).toBe("same");
});

test("contents have the last word", () => {
  const pair = { left: row, right: aRow(2, { ...row, id: "y" }) };
  expect(verdictOf(pair, new Map([[idOf(pair), "changed"]]))).toBe("changed");
  const apart = { left: row, right: aRow(2, { ...row, summary: "by a model" }) };
  expect(verdictOf(apart, new Map([[idOf(apart), "same"]]))).toBe("same");
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
  const verdicts = ["same", "left", "same", "same", "changed", "same"] as const;
  expect(nextDifference(verdicts, -1, 1)).toBe(1);
  expect(nextDifference(verdicts, 1, 1)).toBe(4);
  expect(nextDifference(verdicts, 4, 1)).toBeNull();
  expect(nextDifference(verdicts, 5, -1)).toBe(4);
  expect(nextDifference(verdicts, 1, -1)).toBeNull();
});
