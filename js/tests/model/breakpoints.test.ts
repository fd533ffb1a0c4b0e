import { expect, test } from "vitest";
import { breakpointText, escapeGlob, globLiteral, matchesGlob } from "../../src/model/breakpoints";
import type { BreakpointRule } from "../../src/protocol/types.gen";
import { aBreakpoint } from "../helpers/values";

const CASES: [string, Partial<BreakpointRule>][] = [
  ["Before a tool", {}],
  ["Before tool run_*", { name: "run_*" }],
  ["After an LLM answer", { kind: "llm_query", side: "end" }],
  ["Before an LLM query", { kind: "llm_query" }],
  ["Before a program start", { kind: "program_started" }],
  ["Any event", { kind: null, side: null }],
  ["Before any event", { kind: null }],
  ["Event plan", { kind: null, side: null, name: "plan" }],
  ["A tool fails", { side: "end", on_error: true }],
  ["Tool run_tests fails", { side: "end", on_error: true, name: "run_tests" }],
  ["Any event fails", { kind: null, side: "end", on_error: true }],
  ["Before a tool where args.n > 1", { condition: "args.n > 1" }],
  ["Before a tool, tokens over 10,000", { watch: { kind: "tokens", limit: 10_000 } }],
  ["Before a tool, cost over $0.05", { watch: { kind: "cost", limit: 0.05 } }],
  [
    "Before a tool, the same action 3 times in a row",
    { watch: { kind: "repeated", times: 3, in_a_row: true } },
  ],
  [
    "Before a tool, the same action 3 times in all",
    { watch: { kind: "repeated", times: 3, in_a_row: false } },
  ],
  ["Before a tool, src/*.py is changed", { watch: { kind: "touched", path: "src/*.py" } }],
  ["Before a tool, once", { once: true }],
  ["Before a tool, from hit 3 on", { nth: 3 }],
  ["Before a tool, at hit 12 only", { nth: 12, once: true }],
  ["Before a tool, from hit 22 on", { nth: 22 }],
  ["Before tool run_* by researcher", { name: "run_*", agent: "researcher" }],
  [
    "Any event by a* where depth > 1",
    { kind: null, side: null, agent: "a*", condition: "depth > 1" },
  ],
  ["Before a tool by a*", { agent: "a[*]" }],
  ["Before tool ⟨U+202E⟩x", { name: "\u202ex" }],
];

test.each(CASES)("%s", (words, fields) => {
  expect(breakpointText(aBreakpoint("s", fields))).toBe(words);
});

// ---- globs

// As Python's fnmatch has it.
test.each([
  ["*", "", true],
  ["*", "anything", true],
  ["", "", true],
  ["", "a", false],
  ["run_tests", "run_tests", true],
  ["run_tests", "Run_tests", false],
  ["run_*", "run_tests", true],
  ["run_*", "a run_tests", false],
  ["*_tests", "run_tests", true],
  ["*a*b", "xaxaxb", true],
  ["*a*b", "xaxaxbc", false],
  ["a?c", "abc", true],
  ["a?c", "ac", false],
  ["?", "🛒", true],
  ["[abc]x", "bx", true],
  ["[a-c]x", "dx", false],
  ["[!a-c]x", "dx", true],
  ["[!a-c]x", "ax", false],
  ["[]]", "]", true],
  ["[!]]", "]", false],
  ["[", "[", true],
  ["[a", "[a", true],
  ["[a-]", "-", true],
  ["src/*", "src/a/b.py", true],
] as const)("%j on %j is %j", (pattern, text, wanted) => {
  expect(matchesGlob(pattern, text)).toBe(wanted);
});

test("many stars take no long time", () => {
  expect(matchesGlob(`${"*a".repeat(400)}b`, "a".repeat(1000))).toBe(false);
});

test.each(["plain", "agent[1].py", "a*b?c", "[", "]", "[!x]", ""])(
  "%j fits itself alone",
  (text) => {
    expect(matchesGlob(escapeGlob(text), text)).toBe(true);
    expect(matchesGlob(escapeGlob(text), `${text}x`)).toBe(false);
    expect(globLiteral(escapeGlob(text))).toBe(text);
  },
);

test.each(["*", "run_*", "a?", "[ab]"])("%j is no one text", (pattern) => {
  expect(globLiteral(pattern)).toBeNull();
});
