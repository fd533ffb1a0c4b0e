/** The search for the event that decides, and a run as a test. */
import type { BisectState } from "../../src/protocol/types.gen";
import { aRun, aSearch } from "../helpers/values";
import { type Scene, type SceneSetup, shows } from "./scene";
import { finished } from "./stories";
import { BEGIN } from "./story";
import type { User } from "./user";

const CHECK = "grep -q '12 passed' && ! grep -q 'gave up'";
const OTHERS = [
  aRun("r1", {
    name: "Run #1 of fix-tests, with a name that is longer than there is room for in a list",
    program: "fix_tests.py",
    started_at: BEGIN - 10_000,
    ended_at: BEGIN - 9_900,
    state: "idle",
    ending: "finished",
  }),
  aRun("r2", {
    name: "Run #2 of fix-tests",
    program: "fix_tests.py",
    started_at: BEGIN - 5_000,
    ended_at: BEGIN - 4_900,
    state: "idle",
    ending: "finished",
  }),
];
const ASKING = aSearch({
  revision: 2,
  phase: "asking",
  bad: "r1",
  check: CHECK,
  repeat: 3,
  question:
    "To find which of 6 events of run a decides, the agent is executed up to 3 times for each event that is tried, and makes up to 15 LLM queries. Its tools run too, where they aren't served. Begin?",
  queries: 15,
});
const RUNNING = aSearch({
  ...ASKING,
  revision: 3,
  phase: "running",
  question: "",
  probes: [
    { row: 14, votes: [true], runs: ["r2"], queries: 0 },
    { row: 7, votes: [true, false, true], runs: ["r1", "r2", "r1"], queries: 6 },
    { row: 0, votes: [false], runs: ["r1"], queries: 3 },
  ],
  execution: "r2",
});
const FOUND = aSearch({
  ...RUNNING,
  revision: 4,
  phase: "found",
  execution: null,
  message:
    "Row 7 of run a, the end of llm_query gpt-5, decides: with its outcome the agent passes 2 of 3 times, without it 0 of 2 times.",
  row: 7,
});

/** The tab, scrolled to a section. */
const seen = (search: BisectState, section: string, then?: (user: User) => Promise<void>) =>
  shows(
    finished().ended("finished"),
    async (user) => {
      await user.key("6");
      const at = () => document.querySelector<HTMLElement>(`[aria-label="${section}"]`);
      const found = await user.find(() => at() ?? undefined, section);
      await then?.(user);
      // Of what is around the section nothing else is to move.
      const scroller = found.closest<HTMLElement>(".as-Scroll");
      if (scroller) scroller.scrollTop = found.offsetTop - scroller.offsetTop;
      await user.still();
    },
    { others: OTHERS, search },
  ) satisfies SceneSetup;

const SEARCH = "Which event decided?";
const TEST = "This run as a test";

export const SEARCH_SCENES: Record<string, Scene> = {
  bisect: () => seen(RUNNING, SEARCH),
  "bisect-asking": () => seen(ASKING, SEARCH),
  "bisect-found": () => seen(FOUND, SEARCH),
  "test-export": () =>
    seen(aSearch(), TEST, async (user) => {
      const form = '.as-Bisect-form[aria-label="Write a test"]';
      await user.type(`${form} input[type=text]`, "my_agent:run");
      await user.type(`${form} textarea`, "Fix the failing test\n3");
      await user.press("Write the test");
    }),
};
