/** The pure parts of messages: fences, terminals, literals, folds. */
import { expect, test } from "vitest";
import { decodeLossless, parseLossless } from "../../src/chat/chat_client";
import { argumentsLine, jsonText } from "../../src/chat/messages/call";
import { earlierStart, renderConsole, tailStart } from "../../src/chat/messages/code";
import { blocksOf, spansOf, visiblePart } from "../../src/chat/messages/rich";

const read = (text: string) =>
  blocksOf(text).map(({ kind, info, start, end }) => [kind, info, text.slice(start, end)]);

test.each([
  ["", []],
  ["a\nb", [["text", "", "a\nb"]]],
  ["```\nx\n```", [["code", "", "x"]]],
  ["```\n```", [["code", "", ""]]],
  [
    "a\n```py\nx\n```\nb",
    [
      ["text", "", "a"],
      ["code", "py", "x"],
      ["text", "", "b"],
    ],
  ],
  ["```py", [["code", "py", ""]]],
  ["```py\n", [["code", "py", ""]]],
  ["```py\nx\n", [["code", "py", "x\n"]]],
  ["````md\n```py\nx\n```\n````", [["code", "md", "```py\nx\n```"]]],
  ["~~~\n```\n~~~", [["code", "", "```"]]],
  ["```\nx\n~~~\ny", [["code", "", "x\n~~~\ny"]]],
  ["```this``` is inline", [["text", "", "```this``` is inline"]]],
  ["  ```py\n  x\n  ```", [["code", "py", "  x"]]],
  ["```\nx\n```py\ny", [["code", "", "x\n```py\ny"]]],
  [
    "a\n```\r\nx\n```\r\nb",
    [
      ["text", "", "a"],
      ["code", "", "x"],
      ["text", "", "b"],
    ],
  ],
])("the blocks of %j", (text, blocks) => {
  expect(read(text)).toEqual(blocks);
});

test("every letter of a text is in a block, or in a fence's line", () => {
  let seed = 7;
  const random = (n: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return seed % n;
  };
  const lines = ["```", "````", "~~~", "```py", "x", "", "  y `z`", "```a`b"];
  for (let turn = 0; turn < 500; turn += 1) {
    const text = Array.from({ length: random(12) }, () => lines[random(lines.length)]).join("\n");
    const blocks = blocksOf(text);
    let at = 0;
    for (const { start, end } of blocks) {
      expect(start).toBeGreaterThanOrEqual(at);
      expect(end).toBeGreaterThanOrEqual(start);
      expect(text.slice(at, start)).toMatch(
        /^\s*(?:(?:`{3,}|~{3,})[^\n]*\n?)*\s*(?:(?:`{3,}|~{3,})[^\n]*\n?)*$/,
      );
      at = end;
    }
  }
});

test("what is marked within a line", () => {
  expect(spansOf("a `b` **c** d")).toEqual([
    { kind: "plain", text: "a " },
    { kind: "code", text: "b" },
    { kind: "plain", text: " " },
    { kind: "strong", text: "c" },
    { kind: "plain", text: " d" },
  ]);
  for (const text of ["2 ** 3 ** 4", "a `b", "****", "``", "`a\nb`"])
    expect(spansOf(text)).toEqual([{ kind: "plain", text }]);
  expect(spansOf("`a`".repeat(100_000))).toHaveLength(1);
});

test("a block of which a part is shown", () => {
  const text = "0123456789";
  const block = { kind: "text", info: "", start: 2, end: 8 } as const;
  expect(visiblePart(block, text, 0, 10)).toBe("234567");
  expect(visiblePart(block, text, 4, 6)).toBe("45");
  expect(visiblePart(block, text, 8, 10)).toBeNull();
  expect(visiblePart({ ...block, end: 2 }, text, 0, 10)).toBe("");
});

test.each([
  ["a\r\nb", "a\nb"],
  ["10 %\r100 %", "100 %"],
  ["100 %\r99", "99 %".replace("99 %", "990 %")],
  ["100 %\r\x1b[K9 %", "9 %"],
  ["abc\b\bX", "aXc"],
  ["\x1b[1;31mred\x1b[0m", "red"],
  ["\x1b]0;title\x07x\x1b]8;;https://evil.example\x1b\\link", "xlink"],
  ["\x1b(Bx\x1b7\x1b[2J\x1b[?25l", "x"],
  ["\x9b31mx", "x"],
  ["\b\bx", "x"],
])("a terminal shows %j as %j", (output, shown) => {
  expect(renderConsole(output)).toBe(shown);
});

test("much output with many returns is read once", () => {
  const output = `${"x".repeat(200_000)}${"\ry".repeat(200_000)}`;
  expect(renderConsole(output)).toBe(`y${"x".repeat(199_999)}`);
});

test("values are written as they are", () => {
  const value = { a: [1, 2.5, null, true], b: 2n ** 70n, "c\n": "<\u2028" };
  expect(jsonText(value)).toBe(
    '{"a":[1,2.5,null,true],"b":1180591620717411303424,"c\\n":"<\u2028"}',
  );
  expect(jsonText(undefined)).toBe("null");
  let deep: unknown = 1;
  for (let at = 0; at < 5000; at += 1) deep = [deep];
  expect(jsonText(deep).length).toBeLessThan(500);
  expect(argumentsLine({ a: 1, b: 2, c: 3, d: 4, e: 5 })).toBe("a=1, b=2, c=3, d=4, …");
  expect(argumentsLine("x".repeat(10 ** 6)).length).toBe(60);
  expect(argumentsLine(null)).toBe("");
});

test("the end of a long text stands still while more comes", () => {
  const line = "0123456789\n";
  const froms = new Set<number>();
  for (let n = 0; n < 10_000; n += 10) {
    const text = line.repeat(n);
    const from = tailStart(text);
    expect(text.length - from).toBeLessThanOrEqual(40_000);
    expect(from % line.length).toBe(0);
    froms.add(from);
  }
  expect(froms.size).toBeLessThan(8);
  expect(tailStart("😀".repeat(40_000), 1001) % 2).toBe(0);
  expect(earlierStart("x", 0, 10)).toBe(0);
});

test("whole numbers of any size are read as they are", () => {
  const text =
    '{"a":[12345678901234567890,-9007199254740993,1.0000000000000000001],"__proto__":1e300}';
  expect(parseLossless(text)).toEqual(
    Object.fromEntries([
      ["a", [12345678901234567890n, -9007199254740993n, 1]],
      ["__proto__", 1e300],
    ]),
  );
  expect(parseLossless('{"id":"1234567890123456"}')).toEqual({ id: "1234567890123456" });
  expect(decodeLossless('{"n":1,"type":"item","body":{"v":12345678901234567890}}')?.body).toEqual({
    v: 12345678901234567890n,
  });
  for (const none of ["", "[1]", "null", '{"type":1,"body":2}', '{"type":"x"}'])
    expect(decodeLossless(none)).toBeNull();
});
