import { expect, test } from "vitest";
import { changedPlace } from "../../src/answers/place";

const CALL = '{"Tool":"s","Argument":{"limit":9,"where":{"a/b":[1,2]},"big":12345678901234567890}}';
const edited = (from: string, to: string) => CALL.replace(from, to);

test.each([
  ['"limit":9', '"limit":5.0', "/Argument/limit", "5.0"],
  ["[1,2]", "[1,3]", "/Argument/where/a~1b/1", "3"],
  ["[1,2]", "[1]", "/Argument/where/a~1b", "[\n  1\n]"],
  ["67890}", "67891}", "/Argument/big", "12345678901234567891"],
])("%s to %s is a change of one place", (from, to, path, value) => {
  expect(changedPlace(CALL, edited(from, to))).toEqual({ path, value });
});

test("several changes stand in what holds them all", () => {
  const two = edited('"limit":9', '"limit":1').replace("[1,2]", "[]");
  expect(changedPlace(CALL, two)?.path).toBe("/Argument");
});

test("nothing has changed where only the writing has", () => {
  expect(changedPlace(CALL, CALL.replaceAll(",", ", "))).toBeNull();
  expect(changedPlace(CALL, null)).toBeNull();
  expect(changedPlace(CALL, "{")).toBeNull();
});
