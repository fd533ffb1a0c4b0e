import { expect, test } from "vitest";
import { readViewData, sameView } from "../../src/lab/mime";

test("a view is read", () => {
  expect(readViewData({ run: "r1", follow: true, height: 400 })).toEqual({
    run: "r1",
    follow: true,
    height: 400,
    kept: false,
  });
});

test("the newest run, at the usual height; what a later version adds is left alone", () => {
  expect(readViewData({ run: "", colour: "green" })).toEqual({
    run: "",
    follow: false,
    kept: false,
  });
});

test.each([
  [null, "not an object"],
  [undefined, "not an object"],
  ["r1", "not an object"],
  [[], "not an object"],
  [{}, "“run”"],
  [{ run: 1 }, "“run”"],
  [{ run: "x".repeat(201) }, "“run”"],
  [{ run: "r1", follow: "yes" }, "“follow”"],
  [{ run: "r1", kept: 1 }, "“kept”"],
  [{ run: "r1", height: "520" }, "“height”"],
  [{ run: "r1", height: Number.NaN }, "“height”"],
])("%j is refused with a sentence", (data, words) => {
  expect(readViewData(data)).toContain(words);
});

test("the same view is told from another", () => {
  const view = readViewData({ run: "r1", height: 400 });
  expect(sameView(view, readViewData({ height: 400, follow: false, run: "r1" }))).toBe(true);
  expect(sameView(view, readViewData({ run: "r1", height: 400, kept: true }))).toBe(true);
  expect(sameView(view, readViewData({ run: "r2", height: 400 }))).toBe(false);
  expect(sameView(view, null)).toBe(false);
});
