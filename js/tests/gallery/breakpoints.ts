/** Scenes of breakpoints: the tab, the bar, and what they leave in the timeline. */
import type { BreakpointRule } from "../../src/protocol/types.gen";
import { aBreakpoint, aDryRun, aRun } from "../helpers/values";
import type { Script } from "./core";
import { type Scene, type SceneSetup, shows } from "./scene";
import { beginning, changing } from "./stories";
import { BEGIN, type Story } from "./story";
import * as texts from "./texts";
import type { User } from "./user";

const FAILS = aBreakpoint("fails", { side: "end", on_error: true });
const ENV = aBreakpoint("env", {
  condition: 'args.path.endswith(".env") or "secrets/" in args.path',
});
const SORRY = aBreakpoint("sorry", {
  kind: "llm_query",
  side: "end",
  condition: '"sorry" in answer.text',
  enabled: false,
  // biome-ignore lint/suspicious/noThenProperty: the protocol's word; it is never awaited
  then: "log",
});
const BREAKPOINTS: BreakpointRule[] = [
  ENV,
  FAILS,
  aBreakpoint("cost", {
    kind: "llm_query",
    program: "fix_*",
    watch: { kind: "cost", limit: 0.05 },
  }),
  aBreakpoint("circles", {
    kind: null,
    side: null,
    watch: { kind: "repeated", times: 3, in_a_row: true },
    nth: 2,
  }),
  aBreakpoint("tests", { name: "run_*", program: "fix_tests.py", once: true }),
  SORRY,
  aBreakpoint("triage", { program: "triage.py", condition: "depth > 2" }),
];

const HITS = [{ stop: "fails", count: 1, last: 5 }];
const SINCE = BEGIN - 9000;

/** Past runs: in the last of them a breakpoint that is off had hit. */
const OTHERS = ["run 1", "run 2"].map((name, at) =>
  aRun(`o${at}`, {
    name: `fix-tests · ${name}`,
    program: "fix_tests.py",
    started_at: SINCE + at * 3000,
    ended_at: SINCE + at * 3000 + 60,
    state: "idle",
    agent_state: "finished",
    ending: "finished",
    rows: 40,
    hits: at === 1 ? [{ stop: "sorry", count: 4, last: 31 }] : [],
  }),
);

const DRY_RUNS = [
  aDryRun("a", [4, 9, 11]),
  aDryRun("o1", [3, 12, 25, 26, 27, 30, 31]),
  aDryRun("o0"),
];
const CONDITION = 'args.path.startswith("src/") or tool == "run_tests"';

const run = (): Story => changing().halted({ hits: HITS });

const tab = (act?: (user: User) => Promise<void>, more: Partial<Script> = {}): SceneSetup =>
  shows(
    run(),
    async (user) => {
      await user.press("Breakpoints");
      await user.find(
        () => document.querySelector<HTMLElement>(".as-BreakpointBar") ?? undefined,
        "bar",
      );
      await act?.(user);
      await dryRunShown();
      await user.still();
    },
    { breakpoints: BREAKPOINTS, others: OTHERS, dryRuns: DRY_RUNS, ...more },
  );

const condition = (text: string) => (user: User) => user.type(".as-BreakpointBar-condition", text);

/** The bar asks once the person pauses. */
export async function dryRunShown(): Promise<void> {
  const said = () => document.querySelector(".as-Ticks, .as-BreakpointBar-problem");
  const stale = () => document.querySelector(".as-mod-stale");
  while (!said() || stale()) await new Promise((resolve) => requestAnimationFrame(resolve));
}

export const BREAKPOINT_SCENES: Record<string, Scene> = {
  breakpoints: () => tab(condition(CONDITION)),
  "breakpoints-none": () => tab(undefined, { breakpoints: [] }),
  "breakpoints-edit": () =>
    tab(async (user) => {
      const [row] = document.querySelectorAll<HTMLElement>('[data-breakpoint="circles"]');
      row?.focus();
      await user.key("Enter");
    }),
  "breakpoints-invalid": () =>
    tab(condition("args.path.startswith("), {
      dryRunProblem:
        "The condition ends too early: after “(” at column 21 an argument or “)” is missing.",
    }),
  "breakpoints-past": () => tab((user) => user.press("Dry run on past runs")),
  "breakpoints-delete": () =>
    tab(async (user) => {
      document.querySelector<HTMLElement>('[data-breakpoint="fails"]')?.focus();
      await user.key("Delete");
    }),
  "breakpoints-watching": () => tab(undefined, { control: false }),
  "halted-by-breakpoint": () =>
    shows(
      beginning()
        .answers("I am sorry, one test fails", texts.ANSWER)
        .hit("sorry")
        .calls("write_file", { path: "config/local.env", text: "DEBUG=1\n" })
        .hit("env")
        .halted(),
      undefined,
      { breakpoints: BREAKPOINTS },
    ),
  "breakpoint-failed": () =>
    shows(
      beginning()
        .calls("write_file", { file: "src/cart.py" })
        .stumbled("Breakpoint “args.file > 3”: > can't combine a text with a number")
        .halted(),
      undefined,
      { breakpoints: BREAKPOINTS },
    ),
};
