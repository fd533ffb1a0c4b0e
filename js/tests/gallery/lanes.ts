/** A run of which two researchers do a part each, at the same time. */
import { stepTarget } from "../../src/model/steps";
import type { TimelineRow } from "../../src/protocol/types.gen";
import { aBreakpoint, aDryRun, aLabel } from "../helpers/values";
import { dryRunShown } from "./breakpoints";
import { type Scene, shows } from "./scene";
import { Story } from "./story";
import * as texts from "./texts";
import type { User } from "./user";

type Whose = Pick<TimelineRow, "scope" | "label">;

const agent = (part: string, name: string, parent: string | null, node: string | null): Whose => ({
  scope: ["agent:planner:1", `task:${part}`, `agent:${name}:1`],
  label: aLabel(name, { parent, node }),
});
const PLANNER: Whose = { scope: ["agent:planner:1"], label: aLabel("planner") };
const FIRST = agent("1", "researcher", "planner", null);
const SECOND = agent("2", "researcher", "planner", null);
const WRITER = agent("3", "report_writer_for_customers", "planner", "draft");

/** Two researchers, whose rows interleave, and a writer. */
function parallel(): Story {
  return new Story("Run #2 of find-causes", { program: "find_causes.py" })
    .begins()
    .asks("Why do builds fail on Mondays?", texts.prompt(2))
    .by(PLANNER)
    .answers("Two questions for two researchers", texts.ANSWER)
    .by(PLANNER)
    .asks("What changes at weekends?", texts.prompt(2))
    .by(FIRST, "q1")
    .asks("Which builds fail on other days?", texts.prompt(2))
    .by(SECOND, "q2")
    .answers("search(weekend deploys)", texts.answerCalling("search", { q: "weekend deploys" }))
    .by(FIRST, "q1")
    .calls("search", { q: "weekend deploys" })
    .by(FIRST, "t1")
    .answers("search(failed builds)", texts.answerCalling("search", { q: "failed builds" }))
    .by(SECOND, "q2")
    .calls("search", { q: "failed builds" })
    .by(SECOND, "t2")
    .returns("search", "3 hits", "3 hits")
    .by(FIRST, "t1")
    .returns("search", "no hits", "no hits")
    .by(SECOND, "t2")
    .asks("Write up what the researchers have found", texts.prompt(3))
    .by(WRITER)
    .says("The cache is emptied on Sundays")
    .asks("3 hits: what do they have in common?", texts.prompt(4))
    .by(FIRST, "q3")
    .halted();
}

const BREAKPOINTS = [
  aBreakpoint("one", { kind: "llm_query", agent: "report_writer*" }),
  aBreakpoint("other", { name: "search", agent: "researcher", condition: "args.q" }),
];

const filtered = async (user: User) => {
  await user.press("Filter by agent");
  await user.pick(".as-LaneList li:nth-child(4) input");
};

export const LANE_SCENES: Record<string, Scene> = {
  lanes: () => shows(parallel()),
  usage: () =>
    shows(parallel(), async (user) => {
      await user.key("5");
      await user.type(".as-Prices input", "0.25");
    }),
  "lanes-filter": () => shows(parallel(), (user) => user.press("Filter by agent")),
  "lanes-filtered": () =>
    shows(parallel(), async (user) => {
      await filtered(user);
      await user.key("Escape");
    }),
  "step-menu": () =>
    shows(parallel(), async (user) => {
      await user.pick('.as-Row[data-row="r9"]');
      await user.press("Run to an event");
      await user.pick(".as-StepMenu-switch");
    }),
  "step-over": () =>
    shows(
      parallel().is({
        state: "step",
        agent_state: "tool_executing",
        pending: [],
        step: {
          ...stepTarget({ kind: "over" }, false),
          scope: [],
          event: "e9",
          name: "search",
        },
      }),
    ),
  "lanes-breakpoint": () =>
    shows(
      parallel(),
      async (user) => {
        await user.pick('.as-Row[data-row="r9"]');
        await user.key("s");
        await dryRunShown();
        await user.still();
      },
      { breakpoints: BREAKPOINTS, dryRuns: [aDryRun("a", [7, 9])] },
    ),
};
