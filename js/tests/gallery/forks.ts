/** Runs that were started again: the list as a tree, and a cell that is to be run. */
import { NO_CELL } from "../../src/lab/notebooks";
import { type CellRunner, offerCellRunner } from "../../src/shells/run_cell";
import { aRun } from "../helpers/values";
import { type Scene, type SceneSetup, shows } from "./scene";
import { changing, finished } from "./stories";
import { BEGIN } from "./story";

const CELL = `%%step 'fix the tests' --fork a@7
import my_agent

my_agent.run("Fix the failing test in this project", repository=REPOSITORY, attempts=3)
`;

const fork = (id: string, name: string, run: string, row: number | null, at: number) =>
  aRun(id, {
    name,
    program: "fix_tests.py",
    started_at: BEGIN - 9_000 + at * 600,
    ended_at: BEGIN - 8_700 + at * 600,
    state: "idle",
    ending: at === 2 ? "crashed" : "finished",
    rows: 14,
    forked_from: { run, is_live: false, ...(row !== null && { row }) },
  });

const OTHERS = [
  aRun("r0", { name: "another agent", started_at: BEGIN - 90_000, ended_at: BEGIN - 89_000 }),
  aRun("r1", {
    name: "Run #1 of fix-tests",
    started_at: BEGIN - 10_000,
    ended_at: BEGIN - 9_900,
    state: "idle",
    ending: "finished",
  }),
  fork("r2", "Run #2 of fix-tests", "r1", 4, 1),
  fork("r3", "Run #3 of fix-tests, with a name that is longer than there is room", "r2", 12, 2),
  fork("r4", "Run #4 of fix-tests", "r1", null, 3),
];

/** A notebook whose cell was changed. */
const RUNNER: CellRunner = { run() {}, runFresh: async () => NO_CELL };
const page: { runner: CellRunner | null } = { runner: null };
offerCellRunner(() => page.runner);

/** A run of a cell is forked, on a page with a notebook or without. */
function asksAboutCell(runner: CellRunner | null, act?: SceneSetup["act"]): SceneSetup {
  page.runner = runner;
  return shows(
    finished().is({ workspace: null }).ended("finished"),
    async (user) => {
      await user.pick('.as-Row[data-row="r3"]');
      await user.press("Fork here");
      await user.find(
        () => document.querySelector<HTMLElement>(".as-CellToRun") ?? undefined,
        "cell",
      );
      await act?.(user);
      await user.still();
    },
    { startedAgain: { cell: CELL } },
  );
}

export const FORK_SCENES: Record<string, Scene> = {
  forks: () =>
    shows(
      changing()
        .is({ forked_from: { run: "r1", row: 7, is_live: false } })
        .halted(),
      (user) => user.pick(".as-Run"),
      { others: OTHERS },
    ),
  "fork-cell": () => asksAboutCell(null),
  "fork-kernel": () => asksAboutCell(RUNNER),
  "fork-kernel-refused": () =>
    asksAboutCell(RUNNER, async (user) => {
      await user.press("Restart, and run the cells above first");
      await user.find(
        () => document.querySelector<HTMLElement>(".as-CellToRun [role=alert]") ?? undefined,
        "reason",
      );
    }),
};
