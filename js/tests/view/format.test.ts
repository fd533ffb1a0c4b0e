import { expect, test } from "vitest";
import {
  estimateTokens,
  formatCost,
  formatDollars,
  formatRunTokens,
  formatTokenCount,
  runTokens,
  tokensTitle,
  totalTokens,
  usageText,
} from "../../src/view/figures";
import { escapeInvisible, findInvisible } from "../../src/view/format";
import table from "../helpers/hidden_characters.json";
import { aRun } from "../helpers/values";

test("what hides or turns text around is seen", () => {
  expect(escapeInvisible("a\u202eb\x1b[31m\0\x7f\u200b")).toBe("a⟨U+202E⟩b␛[31m␀␡⟨U+200B⟩");
});

test("what a field can't show is named once each", () => {
  expect(findInvisible("a\u202eb\0\0c\n")).toEqual(["U+202E", "U+0000"]);
  expect(findInvisible("plain 👩‍👩‍👧‍👦")).toEqual([]);
});

test("white space, emoji and scripts stay as they are", () => {
  const text = "a\tb\r\n👩‍👩‍👧‍👦 שלום مرحبا";
  expect(escapeInvisible(text)).toBe(text);
});

test("all code points are told as in Python", () => {
  const told = new Set<number>();
  for (const [first, last] of table) {
    for (let code = parseInt(first ?? "", 16); code <= parseInt(last ?? "", 16); code++)
      told.add(code);
  }
  const others: string[] = [];
  for (let code = 0; code < 0x110000; code++) {
    const hides = findInvisible(`a${String.fromCodePoint(code)}`).length > 0;
    if (hides !== told.has(code)) others.push(code.toString(16));
  }
  expect(others).toEqual([]);
});

test("what was not in a list is seen", () => {
  const named = "\u200e\u00ad\u2028\u3164\u034f\u{e0041}";
  expect(findInvisible(named)).toEqual([
    "U+200E",
    "U+00AD",
    "U+2028",
    "U+3164",
    "U+034F",
    "U+E0041",
  ]);
  expect(escapeInvisible("rm\u3164-rf\u{e0041}")).toBe("rm⟨U+3164⟩-rf⟨U+E0041⟩");
  expect(escapeInvisible("a\u200db a\ufe0f")).toBe("a⟨U+200D⟩b a⟨U+FE0F⟩");
});

test("emoji and scripts keep what they are written with", () => {
  for (const text of ["❤\ufe0f\u200d🔥", "1\ufe0f\u20e3", "می\u200cخواهم"]) {
    expect(escapeInvisible(text)).toBe(text);
  }
});

// ---- figures

const usage = (input: number | null, output: number | null, cost: number | null = null) => ({
  input_tokens: input,
  output_tokens: output,
  cost,
  estimated: false,
});

test("tokens", () => {
  expect([null, 0, 812, 9812, 148_000, 1_210_000].map(formatTokenCount)).toEqual([
    ...["–", "0", "812", "9.8k", "148k", "1.2M"],
  ]);
  expect([usage(1, 2), usage(null, 2), usage(null, null), null].map(totalTokens)).toEqual([
    ...[3, 2, null, null],
  ]);
  expect([0, 1, 4, 5].map(estimateTokens)).toEqual([0, 1, 1, 2]);
});

test("a run's tokens are as its agent told them, else by the length of its queries", () => {
  const told = aRun("a", { usage: usage(5, null), query_bytes: 4000 });
  const silent = aRun("a", { usage: usage(null, null), query_bytes: 4000 });
  expect([told, silent, aRun("a")].map((run) => formatRunTokens(runTokens(run)))).toEqual([
    ...["5", "≈1k", "–"],
  ]);
  expect([told, silent, aRun("a")].map(tokensTitle)).toEqual([
    "5 in, unknown out",
    expect.stringContaining("Estimated by length"),
    "The agent reported no tokens",
  ]);
});

test("costs say two digits, or cents", () => {
  const said = [0, 1e-9, 0.000042, 0.00042, 0.018, 0.1, 0.456, 0.994, 0.996, 1.239, 1234.5];
  expect(said.map(formatDollars)).toEqual([
    ...["$0", "<$0.000001", "$0.000042", "$0.00042", "$0.018", "$0.10", "$0.46", "$0.99"],
    ...["$1.00", "$1.24", "$1,234.50"],
  ]);
});

test("what is estimated is marked", () => {
  expect(formatCost(usage(1, 1))).toBeNull();
  expect(formatCost(usage(1, 1, 0.018))).toBe("$0.018");
  expect(formatCost({ ...usage(1, 1, 0.018), estimated: true })).toBe("≈$0.018");
  expect(usageText(usage(6912, null))).toBe("6,912 in, unknown out");
  expect(usageText(usage(6912, 3, 0.5))).toBe("6,912 in, 3 out; $0.50");
  expect(usageText({ ...usage(1, 2, 0.5), estimated: true })).toBe(
    "1 in, 2 out; ≈$0.50, estimated by the prices that were set",
  );
});
