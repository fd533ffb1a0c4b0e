import { expect, test } from "vitest";
import { fits, literally, literalOf } from "../../src/model/stops";

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
  expect(fits(pattern, text)).toBe(wanted);
});

test("many stars take no long time", () => {
  expect(fits(`${"*a".repeat(400)}b`, "a".repeat(1000))).toBe(false);
});

test.each(["plain", "agent[1].py", "a*b?c", "[", "]", "[!x]", ""])(
  "%j fits itself alone",
  (text) => {
    expect(fits(literally(text), text)).toBe(true);
    expect(fits(literally(text), `${text}x`)).toBe(false);
    expect(literalOf(literally(text))).toBe(text);
  },
);

test.each(["*", "run_*", "a?", "[ab]"])("%j is no one text", (pattern) => {
  expect(literalOf(pattern)).toBeNull();
});
