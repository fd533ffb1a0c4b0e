/** A run whose tool says one thing while another happens, and the run at a glance. */
import type { RunOverview } from "../../src/protocol/types.gen";
import { anOverview } from "../helpers/values";
import { type Scene, shows } from "./scene";
import { CART } from "./stories";
import { Story } from "./story";
import * as texts from "./texts";

const DROPPED = {
  check: "dropped_edit",
  message:
    "This edit of src/cart.py had no effect. It is nearly the same as that of row 7 (98 % alike): the tool may have dropped it.",
  severity: "warning",
} as const;
const NO_EFFECT = {
  check: "no_effect",
  message: "It says “Fix applied to src/cart.py, line 8.”, but changed no file.",
  severity: "warning",
} as const;
const AGAIN = { count: 2, first: 14, last: 14, is_unchanged: true };
const FAILED = "2 failed, 10 passed";
const WORDS = "I fixed the rounding in src/cart.py: all tests pass now.";

/** The second fix is dropped, and the agent says that all is well. */
function lying(): Story {
  const fix = (line: string) => ({ path: "src/cart.py", line_number: 8, content: line });
  return new Story()
    .begins()
    .asks("Fix the failing test in this project", texts.prompt(2))
    .answers("Calls run_tests()", texts.answerCalling("run_tests", {}))
    .beside("I run the tests first, to see what fails.")
    .calls("run_tests", {})
    .returns("run_tests", FAILED, `exit code 1\n${FAILED}`, { takes: 2.3 })
    .calls("write_fix", fix(texts.CART_AFTER))
    .returns("write_fix", "Fix applied to src/cart.py, line 8.", undefined, { files: [CART] })
    .asks("Returns a tool's result: Fix applied to src/cart.py, line 8.", texts.prompt(4))
    .answers("Calls write_fix(path=src/cart.py, …)", texts.answerCalling("write_fix", {}))
    .beside("Rounding to whole euros is wrong: it has to be to two digits.")
    .calls("write_fix", fix(texts.CART_AFTER.replace("2)", "3)").replace("round", "round_")))
    .returns("write_fix", "Fix applied to src/cart.py, line 8.")
    .marked({ marks: [DROPPED, NO_EFFECT] })
    .answers("Calls run_tests()", texts.answerCalling("run_tests", {}))
    .calls("run_tests", {})
    .returns("run_tests", FAILED, `exit code 1\n${FAILED}`, { takes: 2.1 })
    .calls("run_tests", {})
    .returns("run_tests", FAILED, `exit code 1\n${FAILED}`, { takes: 2.2 })
    .marked({ marks: [], repetition: AGAIN })
    .answers(WORDS, { role: "assistant", content: WORDS })
    .ends()
    .ended("finished", {
      effects: { rows: 1, warnings: 1, first: 11 },
      checks: [{ command: "pytest -q", exit_code: 1, at: 1_000, line: FAILED, rows: 18 }],
    });
}

const GLANCE: RunOverview = anOverview({
  rows: 18,
  said: WORDS,
  said_row: 17,
  contradictions: [
    { text: `It says that it succeeded, but its last tests failed: ${FAILED}.`, row: 16 },
    { text: "The check “pytest -q” exits with 1.", row: null },
    {
      text: `write_fix: ${DROPPED.message}`,
      row: 11,
    },
  ],
  tools: [
    { name: "run_tests", calls: 3, failures: 3, marked: 0, seconds: 6.6, first: 5, last: 16 },
    { name: "write_fix", calls: 2, failures: 0, marked: 1, seconds: 0.03, first: 7, last: 11 },
  ],
  queries: 4,
  query_seconds: 7.4,
  files: [
    {
      path: "src/cart.py",
      reads: 1,
      changes: 1,
      added: 3,
      removed: 1,
      kind: "changed",
      first: 7,
      last: 11,
      commit: "a",
    },
    {
      path: "tests/a_very_long_folder_name_that_goes_on/test_rounding_of_prices.py",
      reads: 2,
      changes: 0,
      added: 0,
      removed: 0,
      kind: null,
      first: 5,
      last: 5,
      commit: null,
    },
  ],
  repeated: [{ tool: "run_tests", summary: "run_tests()", row: 16, repetition: AGAIN }],
  errors: [{ text: FAILED, source: "run_tests", count: 3, first: 5, last: 16 }],
  marked: [{ row: 11, tool: "write_fix", marks: [DROPPED, NO_EFFECT] }],
  check_runs: [{ command: "pytest -q", exit_code: 1, at: 1_000, line: FAILED, rows: 18 }],
});

const GAVE_UP = anOverview({
  ...GLANCE,
  outcome: "gave_up",
  reason: "By its own words it did not reach its goal",
  said: "I could not make the tests pass.",
  contradictions: GLANCE.contradictions.slice(2),
  check_runs: [],
});

export const OVERVIEW_SCENES: Record<string, Scene> = {
  "ended-contradicted": () =>
    shows(lying(), async (user) => user.pick('.as-Row[data-row="r11"]'), { overview: GLANCE }),
  "ended-gave-up": () => shows(lying(), undefined, { overview: GAVE_UP }),
  overview: () => shows(lying(), (user) => user.key("5"), { overview: GLANCE }),
  "overview-good": () =>
    shows(
      lying().is({ effects: undefined as never, checks: undefined as never }),
      (user) => user.key("5"),
      {
        overview: anOverview({ rows: 18, said: "All tests pass." }),
      },
    ),
  "overview-file": () =>
    shows(
      lying(),
      async (user) => {
        await user.key("5");
        await user.press("src/cart.py");
      },
      { overview: GLANCE },
    ),
};
