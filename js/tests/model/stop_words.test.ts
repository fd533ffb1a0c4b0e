import { expect, test } from "vitest";
import { stopWords } from "../../src/model/stops";
import type { Stop } from "../../src/protocol/types.gen";
import { aStop } from "../helpers/values";

const CASES: [string, Partial<Stop>][] = [
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
  ["Before a tool, from the 3rd match on", { nth: 3 }],
  ["Before a tool, at the 12th match", { nth: 12, once: true }],
  ["Before a tool, from the 22nd match on", { nth: 22 }],
  ["Before tool ⟨U+202E⟩x", { name: "\u202ex" }],
];

test.each(CASES)("%s", (words, fields) => {
  expect(stopWords(aStop("s", fields))).toBe(words);
});
