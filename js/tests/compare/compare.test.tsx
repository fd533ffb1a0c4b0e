import { render } from "preact";
import { expect, test } from "vitest";
import { Compare } from "../../src/compare";
import type { TimelineRow } from "../../src/model/model";
import { aModel, showing } from "../helpers/debugger";
import { box, drawn, press, useBox, useLayout } from "../helpers/dom";
import { aBody, aRow, endedRun, opened, rowsTo } from "../helpers/values";

useLayout();

useBox();

/** Ten alike rows, of which the right run says one otherwise and has one more. */
const LEFT = rowsTo(10);
const RIGHT = [
  ...LEFT.slice(0, 4),
  aRow(5, { id: "x5", summary: "event five" }),
  aRow(6, { id: "x6", kind: "tool_invocation", name: "detour", summary: "detour()" }),
  ...LEFT.slice(5).map((row) => ({ ...row, id: `x${row.seq + 1}`, seq: row.seq + 1 })),
];

async function comparing(left: TimelineRow[] = LEFT, right: TimelineRow[] = RIGHT) {
  const all = aModel({ run: "a" });
  const { model, peer } = all;
  await peer.greet([endedRun("a"), endedRun("b")]);
  await all.opens(endedRun("a"));
  model.compare.value = { left: "a", right: "b" };
  render(<Compare model={model} ids={{ left: "a", right: "b" }} />, box);
  await drawn();
  await peer.answer(peer.take("read_run"), "run_opened", opened(endedRun("a"), { rows: left }));
  await peer.answer(peer.take("read_run"), "run_opened", opened(endedRun("b"), { rows: right }));
  await drawn();
  return all;
}

/** Answer for the contents of the selected pair. */
async function contents({ peer }: Awaited<ReturnType<typeof comparing>>, ...texts: string[]) {
  for (const data of texts) {
    const asked = peer.take("get_message");
    const { run, message } = asked.body;
    await peer.answer(asked, "message", aBody(message, { run, data }));
  }
  await drawn();
}

const lines = () =>
  [...box.querySelectorAll<HTMLElement>(".as-Pair")]
    .filter((each) => each.style.transform !== "")
    .map((each) => each.querySelector(".as-Hidden")?.textContent);
const selected = () => box.querySelector('.as-Pair[aria-selected="true"]')?.textContent;
const status = () => box.querySelector("[role=status]")?.textContent;
const button = (name: string) => box.querySelector<HTMLElement>(`[aria-label="${name}"]`);

test("it begins where the runs part, with the contents of both", async () => {
  const all = await comparing();
  expect(status()).toBe("2 differences");
  expect(selected()).toContain("event five");
  expect(document.activeElement).toBe(box.querySelector('.as-Pair[tabindex="0"]'));
  await contents(all, '"one boat"', '"two boats"');
  const cells = (side: string) => box.querySelector(`.as-Diff td.${side}.t`)?.textContent;
  expect([cells("d"), cells("a")]).toEqual(["removed: one boat", "added: two boats"]);
});

test("j and k, F7 and Shift+F7 go from difference to difference", async () => {
  await comparing();
  await press("j");
  expect(selected()).toContain("detour");
  await press("F7");
  expect(selected()).toContain("detour"); // the last one
  await press("F7", { shiftKey: true });
  expect(selected()).toContain("event five");
  await press("j");
  await press("k");
  expect(selected()).toContain("event five");
});

test("only differences are shown when asked for, the selected line stays", async () => {
  await comparing();
  await press("Home");
  button("Only differences")?.click();
  await drawn();
  expect(lines()).toEqual(["the same", "differs", "only on the right"]);
});

test("contents have the last word on rows that look the same", async () => {
  const all = await comparing(rowsTo(3), rowsTo(3));
  expect(status()).toBe("No difference found");
  await contents(all, '"a"', '"b"');
  expect(status()).toBe("1 difference");
  await press("ArrowDown");
  await contents(all, '"a"', '"a"');
  expect(lines()).toEqual(["differs", "the same", "the same"]);
  expect(box.textContent).toContain("The same on both sides.");
});

test("a row that only one run has is shown by itself", async () => {
  const all = await comparing();
  all.peer.inbox.length = 0;
  await press("j");
  await contents(all, '{"path":"src/cart.py"}');
  expect(box.textContent).toContain("Only the run on the right has this.");
  expect(all.peer.inbox).toEqual([]);
});

test("a link leads to the row in its run, and nowhere where that run can't be shown", async () => {
  const { model, peer } = await comparing(LEFT, LEFT);
  const link = (side: string) =>
    box.querySelector<HTMLElement>(`[title$="of the run on the ${side}"]`);
  peer.inbox.length = 0;
  const { value: tab } = model.tab;
  const before = model.selectedRow.value;
  link("right")?.click();
  await peer.refuse(peer.take("open_run"), "run_gone", "The run was deleted.");
  expect([model.run.value?.id, model.selectedRow.value]).toEqual(["a", before]);
  expect([model.tab.value, model.problem.value?.message]) //
    .toEqual([tab, "The run was deleted."]);
  link("right")?.click();
  await peer.answer(peer.take("open_run"), "run_opened", opened(endedRun("b"), { rows: LEFT }));
  expect([model.run.value?.id, model.selectedRow.value]).toEqual(["b", "r1"]);
});

test("Esc and Back return to the runs", async () => {
  const { model } = await comparing();
  await press("Escape");
  expect(model.compare.value).toBeNull();
  model.compare.value = { left: "a", right: "b" };
  button("Back to the runs")?.click();
  expect(model.compare.value).toBeNull();
});

test("however many rows, few are in the document", async () => {
  await comparing(rowsTo(2000), rowsTo(1990));
  expect(box.querySelectorAll(".as-Pair").length).toBeLessThan(80);
  expect(box.querySelector("[role=grid]")?.getAttribute("aria-rowcount")).toBe("2000");
});

test("a run that can't be read says why, and is asked for again", async () => {
  const { model, peer } = await showing(endedRun("a"), []);
  render(<Compare model={model} ids={{ left: "a", right: "b" }} />, box);
  await drawn();
  await peer.refuse(peer.take("read_run"), "damaged_run", "The run is damaged.");
  await drawn();
  expect(box.textContent).toContain("The run is damaged.");
  peer.inbox.length = 0;
  const again = [...box.querySelectorAll("button")].find(
    (each) => each.textContent === "Try again",
  );
  again?.click();
  await drawn();
  expect(peer.take("read_run").body.run).toBe("a");
});
