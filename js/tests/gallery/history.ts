/** Scenes of the Runs tab: what is kept of many runs. */
import type { Run, RunEnding, SearchHit } from "../../src/protocol/types.gen";
import { aRun, aUsage } from "../helpers/values";
import type { Script } from "./core";
import { type Scene, type SceneSetup, shows } from "./scene";
import { BEGIN, Story } from "./story";
import * as texts from "./texts";
import type { User } from "./user";

const HOUR = 3600;

interface Told extends Partial<Run> {
  /** Hours before the shown run. */
  ago: number;
  /** In seconds. */
  took: number;
  tokens: [number, number] | null;
}

function kept(id: string, name: string, ending: RunEnding | null, told: Told): Run {
  const { ago, took, tokens, ...fields } = told;
  const started_at = BEGIN - ago * HOUR;
  return aRun(id, {
    name,
    program: `${name.split(" ")[0]?.replaceAll("-", "_")}.py`,
    started_at,
    ended_at: started_at + took,
    state: "idle",
    agent_state: "finished",
    ending,
    usage: tokens && aUsage(tokens[0], tokens[1]),
    ...fields,
  });
}

const LIVE = { state: "continue", mode: "continue", ended_at: null } as const;

/** As a list is after some days of work: each way to end, and two that go on. */
const OTHERS: Run[] = [
  kept("o1", "Run #12 of bench-lease", null, {
    ago: 29 * 24 + 4.7,
    took: 7,
    tokens: [1_010_000, 190_000],
    rows: 1000,
    tags: ["bench"],
  }),
  kept("o2", "Run #3 of write-docs", "finished", {
    ago: 21.3,
    took: 231,
    tokens: [70_100, 11_200],
    rows: 102,
    tags: ["docs"],
  }),
  kept("o3", "Run #4 of write-docs", "stopped", {
    ago: 20.9,
    took: 62,
    tokens: [19_400, 2200],
    rows: 33,
    tags: ["docs"],
  }),
  kept("o4", "Run #5 of write-docs", "finished", {
    ago: 20.7,
    took: 215,
    tokens: [66_000, 11_000],
    rows: 96,
    tags: ["docs", "keep"],
  }),
  kept("o5", "Run #1 of fix-tests", "crashed", {
    ago: 0.6,
    took: 12,
    tokens: [3600, 500],
    rows: 8,
    tags: ["baseline"],
    failure: { type: "KeyError", message: "'price'" },
    exit_code: 1,
  }),
  kept("o6", "Run #2 of fix-tests", "lost", {
    ago: 0.4,
    took: 138,
    tokens: [45_000, 7400],
    rows: 61,
    tags: ["baseline", "before the rounding was changed"],
  }),
  kept("o7", "Run #1 of triage-inbox", null, {
    ...LIVE,
    ago: 0.07,
    took: 0,
    tokens: [131_000, 17_000],
    rows: 212,
    agent_state: "tool_executing",
  }),
];

function shown(): Story {
  const story = new Story("Run #3 of fix-tests", {
    tags: ["decimal"],
    usage: aUsage(6912, 2900),
  })
    .begins()
    .asks("Fix the failing test in this project", texts.prompt(2))
    .answers("run_tests(tests/)", texts.answerCalling("run_tests", { path: "tests/" }))
    .calls("run_tests", { path: "tests/" })
    .halted();
  return story;
}

/** The Runs tab, and what a person did there. */
const listed = (act?: (user: User) => Promise<void>, more: Partial<Script> = {}): SceneSetup =>
  shows(
    shown(),
    async (user) => {
      await user.key("4");
      await user.find(() => document.querySelector<HTMLElement>(".as-Runs") ?? undefined, "list");
      await user.still();
      await act?.(user);
    },
    { others: OTHERS, ...more },
  );

const searches = (words: string) => async (user: User) => {
  await user.type(".as-RunsSearch", words);
  await user.key("Enter");
};

const hit = (
  run: string,
  place: SearchHit["place"],
  id: string,
  ...snippet: string[]
): SearchHit => ({
  run,
  place,
  id,
  snippet,
});

const FOUND: SearchHit[] = [
  hit(
    "a",
    "row",
    "r4",
    "tests/test_cart.py:18: assert ",
    "total",
    "([Item('pen', 199)]) == Decimal",
  ),
  hit(
    "a",
    "row",
    "r2",
    "Make the failing tests pass. The ",
    "total",
    " of a cart is rounded twice.",
  ),
  hit("o6", "note", "r12", "Here the ", "total", " is right, but the tax isn’t: look at run 1"),
  hit(
    "o6",
    "row",
    "r9",
    "def ",
    "total",
    "(items):\n    return sum(round(item.price) for item in items",
  ),
  hit("o6", "commit", "c1", "Round the ", "total", " once, at the end · src/cart.py"),
  hit("o5", "run", "o5", "", "total", "s before the change"),
  hit("o5", "row", "r8", "KeyError: '", "total", "'"),
];

const TROUBLE =
  "The store can't write to ~/.local/share/agentstepper right now: database or disk is full. Free " +
  "disk space there; agents wait meanwhile, and the store tries again each second.";

/** More runs than anybody looks through. */
function many(): Run[] {
  const endings = ["finished", "finished", "crashed", "stopped", "lost"] as const;
  return Array.from({ length: 10_000 }, (_, at) =>
    kept(`m${at}`, `Run #${at + 1} of nightly`, endings[at % endings.length] ?? null, {
      ago: (10_000 - at) / 4,
      took: 30 + (at % 400),
      tokens: at % 7 === 0 ? null : [at * 13, at],
      rows: at % 900,
      tags: at % 3 === 0 ? ["nightly"] : [],
    }),
  );
}

export const HISTORY: Record<string, Scene> = {
  history: () => listed(),
  "history-chosen": () =>
    listed(async (user) => {
      for (const run of ["o5", "o6"]) await user.pick(`.as-RunRow[data-run="${run}"] input`);
    }),
  "history-rename": () => listed((user) => user.press("Rename Run #2 of fix-tests (F2)")),
  "history-tags": () => listed((user) => user.press("Tags of Run #2 of fix-tests (t)")),
  "history-export": () => listed((user) => user.press("Export Run #5 of write-docs")),
  "history-delete": () =>
    listed((user) => user.press("Delete Run #4 of write-docs and its 33 events (Delete)")),
  "history-filter-none": () => listed((user) => user.type(".as-RunsFilter .as-Input", "nightly")),
  "history-search": () => listed(searches("total"), { found: { hits: FOUND, more: true } }),
  "history-search-none": () => listed(searches("quicksort")),
  "history-refused": () =>
    listed((user) => user.press("Export Run #5 of write-docs").then(() => user.press("Archive")), {
      refuses: { code: "damaged_run", message: "Three of its rows can’t be read: run the doctor." },
    }),
  "history-memory": () =>
    listed(undefined, { store: { kind: "memory", durability: null, folder: null, size: null } }),
  "history-trouble": () => listed(undefined, { store: { trouble: TROUBLE } }),
  "history-watch-only": () => listed(undefined, { control: false }),
  "history-empty": () => ({ script: {}, act: (user) => user.press("Runs") }),
  "history-many": () => listed(undefined, { others: many() }),
};
