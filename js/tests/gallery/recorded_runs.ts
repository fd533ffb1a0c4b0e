/** Runs that are kept: an agent that is away, what a person wrote down, and two runs side by side. */
import { aUsage } from "../helpers/values";
import { type Scene, type SceneSetup, shows } from "./scene";
import { beginning, CART, changing, TESTS } from "./stories";
import { BEGIN, Story } from "./story";
import * as texts from "./texts";
import type { User } from "./user";

const AWAY = { state: "detached", agent_state: "halted", detached_at: BEGIN + 20 } as const;

const NOTE =
  "It rounds each item, so that cents add up: the prompt should ask for one rounding at the end.\n" +
  "Tried with gpt-5 as well: the same.";

/** The same task once more: a better prompt, another file read, and no detour. */
function second(): Story {
  return new Story("Run #4 of fix-tests", { id: "b" })
    .begins()
    .committed("Initialized repository", [])
    .asks("Fix the failing test in this project", texts.prompt(2))
    .answers("run_tests(tests/)", texts.answerCalling("run_tests", { path: "tests/" }))
    .calls("run_tests", { path: "tests/" })
    .returns("run_tests", "1 failed, 11 passed", texts.TEST_RUN, {
      takes: 2.07,
      fails: { type: "TestsFailed", message: "1 failed, 11 passed" },
    })
    .asks("4 messages: 1 failed, 11 passed", texts.prompt(4))
    .answers("write_file(src/cart.py)", texts.ANSWER)
    .calls("write_file", { path: "src/cart.py", text: `${texts.CART_AFTER}# once\n` })
    .returns("write_file", "wrote 419 bytes to src/cart.py", undefined, { files: [CART, TESTS] })
    .asks("6 messages: the file is written", texts.prompt(6))
    .answers("Done: all tests pass", { role: "assistant", content: "Done: all tests pass." })
    .ends();
}

const FIRST_USAGE = aUsage(6912, 2900);
const SECOND_USAGE = aUsage(4210, 1204);

/** Two runs in the comparison, and what a person did there. */
function compared(act: (user: User) => Promise<void> = async () => {}): SceneSetup {
  const first = changing().ends().ended("finished", { usage: FIRST_USAGE });
  const other = second().ended("finished", { usage: SECOND_USAGE });
  const made = shows(first, async (user) => {
    await user.key("4");
    for (const run of [3, 4]) await user.pick(`[aria-label="Compare Run #${run} of fix-tests"]`);
    await user.press("Compare");
    await user.find(() => document.querySelector<HTMLElement>(".as-Pair") ?? undefined, "pair");
    await user.still();
    await act(user);
  });
  return { ...made, script: { ...made.script, read: [other] } };
}

export const KEEPING: Record<string, Scene> = {
  // ---- the agent is away, or gone
  "away-halted": () => shows(beginning().halted(AWAY)),
  away: () => shows(beginning().is({ ...AWAY, agent_state: "llm_thinking" })),
  killed: () =>
    shows(
      changing().ends("The agent broke off", { outcome: "error" }).ended("crashed", {
        exit_code: -9,
        last_event: "tool result write_file (row 13)",
      }),
    ),

  // ---- what a person wrote
  note: () => shows(beginning().noted(NOTE).halted()),
  "note-writing": () =>
    shows(beginning().noted(NOTE).halted(), async (user) => {
      await user.key("n");
      await user.type(".as-RowNote textarea", `${NOTE}\nAsk for the smallest change.`);
    }),

  // ---- two runs
  compare: () => compared(),
  "compare-only": () => compared((user) => user.press("Only differences")),
  "compare-changed": () =>
    compared(async (user) => {
      for (let times = 0; times < 5; times += 1) await user.key("j");
    }),
};
