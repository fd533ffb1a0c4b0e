/** What the agent of most scenes does: it finds out why a test fails, and mends it. */
import { Story } from "./story";
import * as texts from "./texts";

export const CART = { path: "src/cart.py", before: texts.CART_BEFORE, after: texts.CART_AFTER };
export const TESTS = { path: "tests/test_rounding.py", kind: "added", after: texts.TEST } as const;

/** The agent reads, and asks what to do: everything up to its second query. */
export function beginning(name?: string): Story {
  return new Story(name)
    .begins()
    .committed("Initialized repository", [])
    .asks("Fix the failing test in this project", texts.prompt(2))
    .answers("run_tests(tests/)", texts.answerCalling("run_tests", { path: "tests/" }))
    .calls("run_tests", { path: "tests/" })
    .returns("run_tests", "1 failed, 11 passed", texts.TEST_RUN, {
      takes: 2.31,
      fails: { type: "TestsFailed", message: "1 failed, 11 passed" },
    })
    .asks("4 messages: 1 failed, 11 passed", texts.prompt(4));
}

/** On from there: a file is read, changed, and the tests run again. */
export function changing(name?: string): Story {
  return beginning(name)
    .answers("read_file(src/cart.py)", texts.answerCalling("read_file", { path: "src/cart.py" }))
    .calls("read_file", { path: "src/cart.py" })
    .returns("read_file", texts.CART_BEFORE.split("\n")[0] ?? "", texts.CART_BEFORE)
    .asks("6 messages: the file as it is", texts.prompt(6))
    .answers("write_file(src/cart.py)", texts.answerCalling("write_file", { path: "src/cart.py" }))
    .calls("write_file", { path: "src/cart.py", text: texts.CART_AFTER })
    .returns("write_file", "wrote 412 bytes to src/cart.py", undefined, { files: [CART, TESTS] });
}

export function finished(): Story {
  return changing()
    .calls("run_tests", { path: "tests/" })
    .returns("run_tests", "12 passed", "12 passed in 2.07s", { takes: 2.07 })
    .committed("Round once, at the end", [CART, TESTS])
    .ends();
}
