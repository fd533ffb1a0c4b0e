/** The tab Forks: a tree of runs, files restored in place, and the question which folder to use. */
import type { ForkNode, ForkTree, Run } from "../../src/protocol/types.gen";
import { aRun } from "../helpers/values";
import { type Scene, shows } from "./scene";
import { changing, finished } from "./stories";
import { BEGIN } from "./story";

const FOLDER = "~/projects/shop-of-the-second-street/backend-of-the-shop";

interface Fork {
  at: number;
  name: string;
  parent?: string;
  row?: number;
  cost: number;
  ending?: Run["ending"];
}

const aFork = (id: string, { at, name, parent, row, cost, ending = "finished" }: Fork): Run =>
  aRun(id, {
    name,
    program: "fix_tests.py",
    started_at: BEGIN - 9_000 + at * 600,
    ended_at: BEGIN - 8_700 + at * 600,
    state: "idle",
    ending,
    rows: 14 + at,
    workspace: FOLDER,
    usage: { input_tokens: 4_000, output_tokens: 600, cost, estimated: at === 3 },
    ...(parent && { forked_from: { run: parent, is_live: false, ...(row && { row }) } }),
  });

const RUNS = [
  aFork("r1", { at: 0, name: "Run #1 of fix-tests", cost: 0.031 }),
  aFork("r2", { at: 1, name: "Run #2 of fix-tests", parent: "r1", row: 4, cost: 0.012 }),
  aFork("r3", {
    at: 2,
    name: "Run #3 of fix-tests, with a name that is longer than there is room in a side panel",
    parent: "r2",
    row: 12,
    cost: 0.0021,
    ending: "crashed",
  }),
  aFork("r4", { at: 3, name: "Run #4 of fix-tests", parent: "r1", cost: 0 }),
];

const node = (run: Run, more: Partial<ForkNode> = {}): ForkNode => ({
  run,
  point: "",
  edit: "",
  outcome: "finished",
  reason: "",
  changed_files: 0,
  ...more,
});

/** The tree above, with the shown run below the first. */
function treeWith(shown: Run): ForkTree {
  const [first, second, third, fourth] = RUNS as [Run, Run, Run, Run];
  return {
    nodes: [
      node(first, { changed_files: 3 }),
      node(second, {
        point: "LLM answer gpt-5-mini",
        edit: "content[0].text: “…tests are green” → “…tests still fail”",
        outcome: "gave_up",
        reason: "It ended while the model still asked for tools",
        changed_files: 1,
      }),
      node(third, {
        point: "tool call write_file",
        edit: "Argument.path: “src/cart.py” → “src/shop/basket/models/cart_of_the_customer.py”, and 2 more",
        outcome: "crashed",
      }),
      node(fourth),
      node(shown, { point: "tool result run_tests", outcome: "running", changed_files: 2 }),
    ],
    more: 0,
    restored: [
      {
        folder: FOLDER,
        restore: "j",
        run: "r2",
        recorded_run: "r1",
        row: 4,
        is_done: true,
      },
    ],
  };
}

/** A halted fork, whose tree the Core knows. */
const forked = () => changing().is({ forked_from: { run: "r1", row: 7, is_live: false } });

export const FORK_TREE_SCENES: Record<string, Scene> = {
  "fork-tree": () => {
    const story = forked().halted();
    return shows(story, (user) => user.press("Forks"), {
      others: RUNS,
      forks: treeWith(story.run),
    });
  },
  "fork-put-back": () => {
    const story = forked().halted();
    return shows(
      story,
      async (user) => {
        await user.press("Forks");
        await user.press("Put back…");
      },
      { others: RUNS, forks: treeWith(story.run) },
    );
  },
  "fork-folder": () =>
    shows(finished().is({ workspace: FOLDER }).ended("finished"), async (user) => {
      await user.pick('.as-Row[data-row="r3"]');
      await user.press("Fork here");
      await user.find(
        () => document.querySelector<HTMLElement>(".as-ForkDialog") ?? undefined,
        "question",
      );
      await user.still();
    }),
};
