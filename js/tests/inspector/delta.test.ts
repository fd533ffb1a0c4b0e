import { describe, expect, test } from "vitest";
import { delta } from "../../src/inspector/delta";
import type { Message } from "../../src/inspector/read/parts";
import { seeded } from "./random_json";

const said = (text: string): Message[] =>
  [...text].map((source) => ({ role: "user", name: undefined, parts: [], source }));

/** "=ab" the same, "~x-2" changed where two are gone, "+c" new. */
function words(now: string, before: string): string[] {
  return delta(said(now), said(before)).map(({ fate, messages, gone }) => {
    const texts = messages.map(({ source }) => source).join("");
    return `${{ same: "=", changed: "~", new: "+" }[fate]}${texts}${gone > 0 ? `-${gone}` : ""}`;
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
      const groups = delta(said(now), said(before));
      if (groups.length === 0) continue;
      const told = groups.flatMap(({ messages }) => messages.map(({ source }) => source));
      expect(told.join("")).toBe(now);
      const same = groups.filter(({ fate }) => fate === "same").flatMap((one) => one.messages);
      const gone = groups.reduce((sum, one) => sum + one.gone, 0);
      expect(same.length + gone).toBe(before.length);
      let from = 0; // what is kept stands in the order in which it stood
      for (const { source } of same) {
        from = before.indexOf(source, from) + 1;
        expect(from).toBeGreaterThan(0);
      }
    }
  });
});
