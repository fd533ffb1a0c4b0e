import { describe, expect, test } from "vitest";
import { promptsBefore } from "../../src/inspector/delta";
import { countLines, cut, FIRST, MORE, moreWords, textBytes } from "../../src/inspector/fold";
import { oneLine } from "../../src/inspector/json/print";
import { row } from "./fake_model";
import { randomJson, seeded } from "./random_json";

const lines = (count: number) => Array.from({ length: count }, (_, at) => `line ${at}`).join("\n");

describe("folding", () => {
  test("short texts, and those a little over, are whole", () => {
    for (const text of ["", "a", lines(14), lines(18), "x".repeat(2000)]) {
      expect(cut(text, 0, FIRST)).toBe(text.length);
    }
  });

  test("long ones are cut after a line", () => {
    const text = lines(100);
    const end = cut(text, 0, FIRST);
    expect(text.slice(0, end)).toBe(`${lines(14)}\n`);
    expect(moreWords(text, end)).toBe("Show 86 more lines · 687 B");
  });

  test("one long line is cut by its size, and never inside a character", () => {
    const text = `x${"🙂".repeat(5000)}`;
    const end = cut(text, 0, FIRST);
    expect(text.slice(0, end)).not.toMatch(/[\ud800-\udbff]$/);
    expect(end).toBeLessThanOrEqual(FIRST.chars);
    expect(moreWords(text, end)).toBe("Show 17 KB more");
  });

  test("whole lines where they are most of it, else part of the long one", () => {
    expect(cut(`a\n${"x".repeat(5000)}`, 0, FIRST)).toBe(FIRST.chars);
    expect(cut(`${"a".repeat(1000)}\n${"x".repeat(5000)}`, 0, FIRST)).toBe(1001);
  });

  test("megabytes come to their end piece by piece", () => {
    for (const text of [lines(300_000), "x".repeat(3_000_000), "\n".repeat(50_000)]) {
      let end = cut(text, 0, FIRST);
      let pieces = 1;
      while (end < text.length) {
        const next = cut(text, end, MORE);
        expect(next).toBeGreaterThan(end);
        expect(next - end).toBeLessThanOrEqual(MORE.chars * 1.4);
        end = next;
        pieces += 1;
      }
      expect(pieces).toBeLessThan(320);
    }
  });

  test("lines and bytes", () => {
    expect(["", "a", "a\n", "a\nb", "\n\n"].map(countLines)).toEqual([0, 1, 1, 2, 2]);
    expect(textBytes("é")).toBe(2);
    expect(textBytes("é".repeat(100_000))).toBe(200_000);
  });
});

test("a value on one line says the same", () => {
  const random = seeded(5);
  for (let round = 0; round < 200; round += 1) {
    const text = randomJson(random);
    expect(JSON.parse(oneLine(text))).toEqual(JSON.parse(text));
    expect(oneLine(text)).not.toContain("\n");
  }
  expect(oneLine('{"a":[1,2.0]}')).toBe('{"a": [1, 2.0]}');
});

describe("what is new", () => {
  test("prompts of the same depth, the latest first, none too large", () => {
    const rows = [
      row({ id: "a", seq: 1 }),
      row({ id: "answer", seq: 2, side: "end" }),
      row({ id: "inner", seq: 3, depth: 1 }),
      row({ id: "large", seq: 4, size: 9e6 }),
      row({ id: "b", seq: 5 }),
      row({ id: "this", seq: 6 }),
      row({ id: "later", seq: 7 }),
    ];
    const ids = (id: string) =>
      rows.flatMap((one) =>
        one.id === id ? promptsBefore(rows, one).map((found) => found.id) : [],
      );
    expect(ids("this")).toEqual(["b", "a"]);
    expect(ids("answer")).toEqual([]);
    expect(ids("large")).toEqual([]);
  });
});
