import { describe, expect, test } from "vitest";
import { contextShares, fitOf, sizesOf } from "../../src/inspector/context";
import {
  countLines,
  foldEnd,
  INITIAL_LIMIT,
  moreText,
  SHOW_MORE_LIMIT,
  textBytes,
} from "../../src/inspector/fold";
import { parse, Value } from "../../src/inspector/json/parse";
import { oneLine } from "../../src/inspector/json/print";
import { parseContent } from "../../src/inspector/parsed/content";
import type { Message } from "../../src/inspector/parsed/parts";
import { promptDelta, promptsBefore } from "../../src/inspector/prompt_delta";
import { row } from "./fake_model";
import { randomJson, seeded } from "./random_json";

function prompt(body: object) {
  const text = JSON.stringify(body);
  const parsed = parse(text);
  if (!("root" in parsed)) throw new Error("no JSON");
  const reading = parseContent("prompt", new Value(text, parsed.root));
  if (reading.kind !== "prompt") throw new Error("no prompt");
  return reading;
}

const said = (content: string) => ({ role: "user", content });
const bytes = (value: unknown) => JSON.stringify(value).length;

test("what a prompt is made of", () => {
  const tool = { type: "function", function: { name: "ls" } };
  const before = [{ role: "system", content: "s" }, said("one")];
  const now = prompt({ messages: [...before, said("two")], tools: [tool] });
  const groups = promptDelta(now.messages, prompt({ messages: before }).messages);
  const sizes = { system: bytes(before[0]), tools: bytes(tool), history: bytes(said("one")) };
  expect(sizesOf(now, { groups, seq: 1 })).toEqual({ ...sizes, new: bytes(said("two")) });
  expect(sizesOf(now, undefined)).toEqual({ ...sizes, history: 0, new: 2 * sizes.history });
});

test("the shares are a hundred percent together, and none that isn't there is told", () => {
  const shares = (system: number, tools: number, history: number, fresh: number) =>
    contextShares({ system, tools, history, new: fresh }).map(
      ({ kind, percent }) => `${kind} ${percent}`,
    );
  expect(shares(1, 1, 1, 0)).toEqual(["system 34", "tools 33", "history 33"]);
  expect(shares(0, 0, 999, 1)).toEqual(["history 100", "new 0"]);
  expect(shares(0, 0, 0, 0)).toEqual([]);
  const random = seeded(3);
  for (let round = 0; round < 500; round += 1) {
    const size = () => Math.floor(random() * 1000);
    const told = contextShares({ system: size() + 1, tools: size(), history: size(), new: size() });
    expect(told.reduce((sum, { percent }) => sum + percent, 0)).toBe(100);
  }
});

// ---- delta

const saidOf = (text: string): Message[] =>
  [...text].map((json) => ({ role: "user", name: undefined, parts: [], json }));

/** "=ab" the same, "~x-2" changed where two are gone, "+c" new. */
function words(now: string, before: string): string[] {
  return promptDelta(saidOf(now), saidOf(before)).map(({ change, messages, removedCount }) => {
    const texts = messages.map(({ json }) => json).join("");
    return `${{ same: "=", changed: "~", new: "+" }[change]}${texts}${removedCount > 0 ? `-${removedCount}` : ""}`;
  });
}

describe("a prompt and one before it", () => {
  test.each([
    ["it goes on", "abc", "ab", ["=ab", "+c"]],
    ["nothing is the same", "xy", "ab", []],
    ["the same again", "ab", "ab", []],
    ["the same, cut at its end", "ab", "abc", ["=ab", "~-1"]],
    ["an early message was edited", "sAbcd", "sabc", ["=s", "~A-1", "=bc", "+d"]],
    ["the first message was edited", "Sabc", "sab", ["~S-1", "=ab", "+c"]],
    ["two were edited apart", "AbCde", "abcd", ["~A-1", "=b", "~C-1", "=d", "+e"]],
    ["messages were summarised", "sZefg", "sabcdef", ["=s", "~Z-4", "=ef", "+g"]],
    ["all were summarised", "sZg", "sabc", ["=s", "+Zg-3"]],
    ["messages were left out", "sefg", "sabcdef", ["=s", "~-4", "=ef", "+g"]],
    ["the first were left out", "cdef", "abcde", ["~-2", "=cde", "+f"]],
    ["one was put in between", "sXabc", "sab", ["=s", "~X", "=ab", "+c"]],
    ["its end was taken back", "abX", "abcd", ["=ab", "+X-2"]],
    ["what is said twice", "aakakb", "aakak", ["=aakak", "+b"]],
    ["what is said twice, after an edit", "Xkakab", "xkaka", ["~X-1", "=kaka", "+b"]],
    ["what is said twice, cut", "sZkokX", "sakokok", ["=s", "~Z-3", "=kok", "+X"]],
  ])("%s", (_, now, before, expected) => {
    expect(words(now, before)).toEqual(expected);
  });

  test("every message is told once, and every earlier one is kept or gone", () => {
    const random = seeded(7);
    const text = () =>
      Array.from({ length: Math.floor(random() * 9) }, () => "abcdef"[Math.floor(random() * 6)]);
    for (let round = 0; round < 2000; round += 1) {
      const [now, before] = [text().join(""), text().join("")];
      const groups = promptDelta(saidOf(now), saidOf(before));
      if (groups.length === 0) continue;
      const told = groups.flatMap(({ messages }) => messages.map(({ json }) => json));
      expect(told.join("")).toBe(now);
      const same = groups.filter(({ change }) => change === "same").flatMap((one) => one.messages);
      const gone = groups.reduce((sum, one) => sum + one.removedCount, 0);
      expect(same.length + gone).toBe(before.length);
      let from = 0; // what is kept stands in the order in which it stood
      for (const { json } of same) {
        from = before.indexOf(json, from) + 1;
        expect(from).toBeGreaterThan(0);
      }
    }
  });
});

// ---- fold

const lines = (count: number) => Array.from({ length: count }, (_, at) => `line ${at}`).join("\n");

describe("folding", () => {
  test("short texts, and those a little over, are whole", () => {
    for (const text of ["", "a", lines(14), lines(18), "x".repeat(2000)]) {
      expect(foldEnd(text, 0, INITIAL_LIMIT)).toBe(text.length);
    }
  });

  test("long ones are cut after a line", () => {
    const text = lines(100);
    const end = foldEnd(text, 0, INITIAL_LIMIT);
    expect(text.slice(0, end)).toBe(`${lines(14)}\n`);
    expect(moreText(text, end)).toBe("Show 86 more lines · 687 B");
  });

  test("one long line is cut by its size, and never inside a character", () => {
    const text = `x${"🙂".repeat(5000)}`;
    const end = foldEnd(text, 0, INITIAL_LIMIT);
    expect(text.slice(0, end)).not.toMatch(/[\ud800-\udbff]$/);
    expect(end).toBeLessThanOrEqual(INITIAL_LIMIT.chars);
    expect(moreText(text, end)).toBe("Show 17 KB more");
  });

  test("whole lines where they are most of it, else part of the long one", () => {
    expect(foldEnd(`a\n${"x".repeat(5000)}`, 0, INITIAL_LIMIT)).toBe(INITIAL_LIMIT.chars);
    expect(foldEnd(`${"a".repeat(1000)}\n${"x".repeat(5000)}`, 0, INITIAL_LIMIT)).toBe(1001);
  });

  test("megabytes come to their end piece by piece", () => {
    for (const text of [lines(300_000), "x".repeat(3_000_000), "\n".repeat(50_000)]) {
      let end = foldEnd(text, 0, INITIAL_LIMIT);
      let pieces = 1;
      while (end < text.length) {
        const next = foldEnd(text, end, SHOW_MORE_LIMIT);
        expect(next).toBeGreaterThan(end);
        expect(next - end).toBeLessThanOrEqual(SHOW_MORE_LIMIT.chars * 1.4);
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

test("how a prompt fits into its model's window", () => {
  expect(fitOf(32_000, 128_000)).toMatchObject({ used: 0.25, isOver: false, text: "25% used" });
  expect(fitOf(127_999, 128_000).text).toBe("99% used");
  expect(fitOf(128_000, 128_000)).toMatchObject({ isOver: false, text: "100% used" });
  const over = fitOf(130_100, 128_000);
  expect(over).toMatchObject({ isOver: true, text: "2.1k too long" });
  expect(over.title).toContain("cuts its oldest messages");
});
