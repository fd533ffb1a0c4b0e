import { describe, expect, test } from "vitest";
import {
  changedWords,
  diffTexts,
  type Hunk,
  linesBetween,
  parseUnified,
  sideBySideLines,
  unifiedLines,
} from "../../src/diff/lines";
import { align, type Section, sectionsOf } from "../../src/diff/texts_diff";
import { parse, Value } from "../../src/inspector/json/parse";
import { parseContent } from "../../src/inspector/parsed/content";
import type { ContentShape } from "../../src/inspector/title";
import { pick, seeded } from "../inspector/random_json";

const SIGNS = { same: " ", del: "-", add: "+" };
const drawn = (hunk: Hunk) =>
  hunk.lines.map((line) => `${line.old ?? ""}|${line.now ?? ""}${SIGNS[line.kind]}${line.text}`);

const random = seeded(7);
const text = () =>
  Array.from({ length: Math.floor(random() * 12) }, () => pick(random, ["a", "b", "c", ""])).join(
    "\n",
  );

describe("lines", () => {
  test("both texts can be read back from their lines", () => {
    for (let round = 0; round < 200; round += 1) {
      const [before, after] = [text(), text()];
      const lines = linesBetween(before, after);
      const side = (without: string) =>
        lines.filter((one) => one.kind !== without).map((one) => one.text);
      const plain = (whole: string) => (whole === "" ? [] : whole.replace(/\n$/, "").split("\n"));
      expect(side("add")).toEqual(plain(before));
      expect(side("del")).toEqual(plain(after));
      expect(sideBySideLines(lines).flatMap((one) => (one.left ? [one.left.text] : []))).toEqual(
        plain(before),
      );
      expect(unifiedLines(lines).map((one) => one.line)).toEqual(lines);
    }
  });

  test("hunks hold three lines around a change, and join where they would touch", () => {
    const before = Array.from({ length: 30 }, (_, at) => `line ${at + 1}`);
    const after = before.with(1, "two").with(20, "twenty-one");
    const hunks = diffTexts(before.join("\n"), after.join("\n"));
    expect(hunks.map((hunk) => [hunk.lines[0]?.old, hunk.lines.at(-1)?.old])).toEqual([
      [1, 5],
      [18, 24],
    ]);
    expect(diffTexts("a\nb", "a\nc").map(drawn)).toEqual([["1|1 a", "2|-b", "|2+c"]]);
  });

  test("a line break at the end alone is no difference", () => {
    expect(diffTexts("a\n", "a")).toEqual([]);
    expect(diffTexts("a", "a")).toEqual([]);
  });

  test("texts without a common line are given up on soon", () => {
    const [before, after] = ["x", "y"].map((mark) =>
      Array.from({ length: 20_000 }, (_, at) => `${mark}${at}`).join("\n"),
    );
    const hunks = diffTexts(before ?? "", after ?? "");
    expect(hunks[0]?.lines.length).toBe(40_000);
  });

  test("side by side, what was taken out stands beside what was put in", () => {
    const lines = linesBetween("a\nb\nc\nd", "a\nB\nd\ne");
    expect(sideBySideLines(lines).map((one) => [one.left?.text, one.right?.text])).toEqual([
      ["a", "a"],
      ["b", "B"],
      ["c", undefined],
      ["d", "d"],
      [undefined, "e"],
    ]);
  });
});

describe("git's own diff", () => {
  test("hunks with their numbers and surroundings", () => {
    const diff = [
      "diff --git a/cart.py b/cart.py",
      "--- a/cart.py",
      "+++ b/cart.py",
      "@@ -10,3 +11,4 @@ def total(self):",
      "     s = 0",
      "--- a comment",
      "+++ another",
      "+more",
      "     return s",
      "@@ -20 +22,0 @@",
      "-gone",
      "\\ No newline at end of file",
      "",
    ].join("\n");
    const hunks = parseUnified(diff);
    expect(hunks.map(drawn)).toEqual([
      ["10|11     s = 0", "11|--- a comment", "|12+++ another", "|13+more", "12|14     return s"],
      ["20|-gone"],
    ]);
    expect(hunks.map((one) => one.enclosing)).toEqual(["def total(self):", undefined]);
  });

  test("no hunks in other texts", () => {
    expect(parseUnified("")).toEqual([]);
    expect(parseUnified("Binary files a and b differ")).toEqual([]);
  });
});

describe("words", () => {
  const drawnWords = (before: string, after: string) =>
    changedWords(before, after)?.map((side) =>
      side.map((one) => (one.changed ? `[${one.text}]` : one.text)).join(""),
    );

  test("marks words, and the blanks between marked words", () => {
    expect(drawnWords("s = 0.0", "s = Decimal(0)")).toEqual(["s = [0.0]", "s = [Decimal(0)]"]);
    const start = "The sum is kept in a float. I will ";
    expect(drawnWords(`${start}round the result`, `${start}sum in Decimal`)).toEqual([
      `${start}[round the result]`,
      `${start}[sum in Decimal]`,
    ]);
  });

  test("leaves lines alone that share too little, and very long ones", () => {
    expect(drawnWords("alpha beta gamma", "one two three")).toBeUndefined();
    expect(drawnWords("x".repeat(5000), "y")).toBeUndefined();
  });
});

// ---- sections

function sections(shape: ContentShape, body: unknown): Section[] {
  const text = JSON.stringify(body);
  const parsed = parse(text);
  if ("problem" in parsed) throw new Error(text);
  return sectionsOf(parseContent(shape, new Value(text, parsed.root)));
}

const brief = (before: Section[], after: Section[]) =>
  align(before, after).map(
    (one) =>
      `${one.before && one.after ? (one.changed ? "~" : "=") : one.after ? "+" : "-"}${(one.after ?? one.before)?.title} ${(one.after ?? one.before)?.name ?? ""}`,
  );

const call = (name: string, args: unknown) => ({
  id: name,
  type: "function",
  function: { name, arguments: JSON.stringify(args) },
});
const answer = (content: string, ...calls: unknown[]) => ({
  role: "assistant",
  content,
  tool_calls: calls,
});

test("an answer's text and its calls are compared each with its own", () => {
  const before = answer(
    "I round.",
    call("edit_file", { path: "a.py", find: "s = 0\n" }),
    call("run_tests", {}),
  );
  const after = answer("I sum.", call("edit_file", { path: "b.py", find: "s = 0\n" }));
  expect(sections("answer", before).map((one) => one.text)).toEqual([
    "I round.",
    "path: a.py\nfind:\n  s = 0\n  ",
    "",
  ]);
  expect(brief(sections("answer", before), sections("answer", after))).toEqual([
    "~Text ",
    "~Tool call edit_file",
    "-Tool call run_tests",
  ]);
});

test("a prompt's unchanged messages find each other around an edited and a new one", () => {
  const message = (role: string, content: string) => ({ role, content });
  const before = [message("system", "s"), message("user", "u1"), message("user", "u2")];
  const after = [
    message("system", "s"),
    message("user", "edited"),
    message("tool", "new"),
    message("user", "u2"),
  ];
  expect(brief(sections("prompt", before), sections("prompt", after))).toEqual([
    "=system ",
    "~user ",
    "+tool ",
    "=user ",
  ]);
});

test("every kind of reading has sections", () => {
  expect(sections("call", { Tool: "f", Argument: { a: 1 } })).toEqual([
    { title: "Tool call", name: "f", text: "a: 1", prose: false },
  ]);
  expect(sections("result", "done")).toEqual([{ title: "Text", text: "done", prose: true }]);
  expect(sections("result", { ok: true })[0]?.text).toBe("ok: true");
  expect(sections("result", [1])[0]?.text).toBe("[\n  1\n]");
  expect(
    sections("prompt", { model: "m", messages: [], tools: [{ name: "t" }] }).map(
      (one) => one.title,
    ),
  ).toEqual(["Settings", "Tool"]);
});
