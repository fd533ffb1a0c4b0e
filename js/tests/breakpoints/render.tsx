/** The Breakpoints tab by itself, and hands for it. */
import { render } from "preact";
import { afterEach, beforeEach, vi } from "vitest";
import { BreakpointsView } from "../../src/breakpoints";
import type { BreakpointRule, Run } from "../../src/protocol/types.gen";
import { aModel } from "../helpers/debugger";
import { drawn as framed, press as pressed } from "../helpers/dom";
import { queriesOf } from "../helpers/queries";
import { aHello, aRow, haltedRun } from "../helpers/values";

export let box: HTMLElement;
beforeEach(() => {
  localStorage.clear();
  box = document.body.appendChild(document.createElement("div"));
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(() => {
  render(null, box);
  vi.useRealTimers();
});

/** As long as the bar waits for who writes. */
const PAUSE_MS = 300;

export const RUN: Run = { ...haltedRun("a", "r9"), program: "fix_tests.py", rows: 13 };

export const ROWS = Array.from({ length: 13 }, (_, at) =>
  aRow(at + 1, {
    kind: at % 2 ? "tool_invocation" : "llm_query",
    name: at % 2 ? "run_tests" : "gpt-5",
  }),
);

/** Wait until what was changed is drawn: Preact's effects wait for a timer, too. */
export async function drawn(): Promise<void> {
  for (let turn = 0; turn < 2; turn += 1) {
    await framed();
    vi.advanceTimersByTime(0);
  }
  await framed();
}

export async function press(key: string): Promise<void> {
  await pressed(key);
  await drawn();
}

/** The tab by itself, with some breakpoints, on a run of 13 rows. */
export async function renderTab(
  breakpoints: BreakpointRule[] = [],
  { control = true, runs = [RUN], rows = ROWS } = {},
) {
  const all = aModel();
  all.peer.opened();
  await all.peer.answer(
    all.peer.take("hello"),
    "hello",
    aHello(runs, { control, stops: breakpoints }),
  );
  const run = runs.at(-1);
  if (run) await all.opens(run, rows);
  all.model.tab.value = "breakpoints";
  render(<BreakpointsView model={all.model} />, box);
  await drawn();
  return all;
}

/** The person pauses: what is tried then, is asked for. */
export async function pause(): Promise<void> {
  vi.advanceTimersByTime(PAUSE_MS);
  await drawn();
}

export const rows = () => [...box.querySelectorAll<HTMLElement>(".as-BreakpointRow")];
export const row = (id: string) =>
  box.querySelector<HTMLElement>(`.as-BreakpointRow[data-breakpoint="${id}"]`) as HTMLElement;
export const field = (label: string) =>
  box.querySelector(`form [aria-label="${label}"]`) as HTMLInputElement;
export const preview = () => box.querySelector(".as-BreakpointPreview") as HTMLElement;
export const focused = () => (document.activeElement as HTMLElement).dataset.breakpoint;

const { button: named, click, type } = queriesOf(() => box, drawn);

export { click };
export const button = (name: string, within?: HTMLElement) =>
  within ? queriesOf(within, drawn).button(name) : named(name);
export const write = (label: string, text: string) => type(field(label), text);

export async function pick(label: string, words: string): Promise<void> {
  const select = field(label) as unknown as HTMLSelectElement;
  const option = [...select.options].find((each) => each.textContent === words);
  if (!option) throw new Error(`${label} has no ${words}`);
  select.value = option.value;
  select.dispatchEvent(new Event("change", { bubbles: true }));
  await drawn();
}
