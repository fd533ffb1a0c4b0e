/** The Runs tab by itself, and hands for it. */
import { render } from "preact";
import { Runs } from "../../src/history";
import type { Run } from "../../src/protocol/types.gen";
import { aModel } from "../helpers/debugger";
import { box, drawn, useBox } from "../helpers/dom";
import { queriesOf } from "../helpers/queries";
import { endedRun, haltedRun, rowsTo } from "../helpers/values";

useBox();

export { box };

export const RUNS: Run[] = [
  { ...endedRun("a"), name: "write-docs", tags: ["docs"], started_at: 1000, rows: 3 },
  { ...endedRun("b"), name: "fix-tests", ending: "crashed", started_at: 2000, rows: 9 },
  { ...haltedRun("c", "r1"), name: "triage", tags: ["mail", "docs"], started_at: 3000 },
];

export const aNumbered = (at: number): Run => ({ ...endedRun(`m${at}`), started_at: at });

/** The Runs tab by itself; the newest run is the shown one. */
export async function listed(runs = RUNS, control = true) {
  const all = aModel();
  await all.peer.greet(runs, control);
  const shown = runs.at(-1);
  if (shown) await all.opens(shown, rowsTo(2));
  all.model.tab.value = "runs";
  render(<Runs model={all.model} />, box);
  await drawn();
  if (all.model.connection.value.kind === "open") all.peer.take("get_store");
  return all;
}

export const rows = () => [...box.querySelectorAll<HTMLElement>(".as-RunRow")];
export const names = () => rows().map((row) => row.querySelector(".as-RunRow-title")?.textContent);
export const row = (id: string) => box.querySelector(`.as-RunRow[data-run="${id}"]`) as HTMLElement;
export const byLabel = (label: string) =>
  box.querySelector(`[aria-label="${label}"]`) as HTMLElement;
export const focused = () => (document.activeElement as HTMLElement).dataset.run;

export const { button, click, type, pick } = queriesOf(() => box, drawn);
