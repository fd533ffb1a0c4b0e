/** Scenes of stops: the tab, the bar, and what they leave in the timeline. */
import type { BreakpointRule } from "../../src/protocol/types.gen";
import { aRun, aStop, aTrial } from "../helpers/values";
import type { Script } from "./core";
import type { Hand } from "./hand";
import { beginning, changing } from "./plots";
import { type Made, type Scene, shows } from "./scene";
import { BEGIN, type Story } from "./story";
import * as texts from "./texts";

const FAILS = aStop("fails", { side: "end", on_error: true });
const ENV = aStop("env", { condition: 'args.path.endswith(".env") or "secrets/" in args.path' });
const SORRY = aStop("sorry", {
  kind: "llm_query",
  side: "end",
  condition: '"sorry" in answer.text',
  enabled: false,
  // biome-ignore lint/suspicious/noThenProperty: the protocol's word; it is never awaited
  then: "log",
});
const STOPS: BreakpointRule[] = [
  ENV,
  FAILS,
  aStop("cost", { kind: "llm_query", program: "fix_*", watch: { kind: "cost", limit: 0.05 } }),
  aStop("circles", {
    kind: null,
    side: null,
    watch: { kind: "repeated", times: 3, in_a_row: true },
    nth: 2,
  }),
  aStop("tests", { name: "run_*", program: "fix_tests.py", once: true }),
  SORRY,
  aStop("triage", { program: "triage.py", condition: "depth > 2" }),
];

const HITS = [{ stop: "fails", count: 1, last: 5 }];
const SINCE = BEGIN - 9000;

/** Past runs: in the last of them a stop that is off had hit. */
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

const TRIED = [aTrial("a", [4, 9, 11]), aTrial("o1", [3, 12, 25, 26, 27, 30, 31]), aTrial("o0")];
const CONDITION = 'args.path.startswith("src/") or tool == "run_tests"';

const run = (): Story => changing().halted({ hits: HITS });

const tab = (act?: (hand: Hand) => Promise<void>, more: Partial<Script> = {}): Made =>
  shows(
    run(),
    async (hand) => {
      await hand.press("Stops");
      await hand.find(() => document.querySelector<HTMLElement>(".as-StopBar") ?? undefined, "bar");
      await act?.(hand);
      await tried();
      await hand.still();
    },
    { stops: STOPS, others: OTHERS, tried: TRIED, ...more },
  );

const condition = (text: string) => (hand: Hand) => hand.type(".as-StopBar-condition", text);

/** The bar asks once the person pauses. */
async function tried(): Promise<void> {
  const said = () => document.querySelector(".as-Ticks, .as-StopBar-problem");
  const stale = () => document.querySelector(".as-mod-stale");
  while (!said() || stale()) await new Promise((resolve) => requestAnimationFrame(resolve));
}

export const STOP_SCENES: Record<string, Scene> = {
  stops: () => tab(condition(CONDITION)),
  "stops-none": () => tab(undefined, { stops: [] }),
  "stops-edit": () =>
    tab(async (hand) => {
      const [row] = document.querySelectorAll<HTMLElement>('[data-stop="circles"]');
      row?.focus();
      await hand.key("Enter");
    }),
  "stops-invalid": () =>
    tab(condition("args.path.startswith("), {
      untried:
        "The condition ends too early: after “(” at column 21 an argument or “)” is missing.",
    }),
  "stops-past": () => tab((hand) => hand.press("On past runs")),
  "stops-delete": () =>
    tab(async (hand) => {
      document.querySelector<HTMLElement>('[data-stop="fails"]')?.focus();
      await hand.key("Delete");
    }),
  "stops-watching": () => tab(undefined, { control: false }),
  "halted-by-stop": () =>
    shows(
      beginning()
        .answers("I am sorry, one test fails", texts.ANSWER)
        .hit("sorry")
        .calls("write_file", { path: "config/local.env", text: "DEBUG=1\n" })
        .hit("env")
        .halted(),
      undefined,
      { stops: STOPS },
    ),
  "stop-failed": () =>
    shows(
      beginning()
        .calls("write_file", { file: "src/cart.py" })
        .stumbled("Stop “args.file > 3”: a text and a number don't go together with >")
        .halted(),
      undefined,
      { stops: STOPS },
    ),
};
