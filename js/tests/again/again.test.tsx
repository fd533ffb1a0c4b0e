/** Starting a run again: what the button asks for, and what becomes of the answer. */
import { render } from "preact";
import { afterEach, expect, test, vi } from "vitest";
import { ForkHere, StartButton } from "../../src/again";
import type { Model } from "../../src/model/model";
import type { RunStartedAgain } from "../../src/protocol/types.gen";
import { type CellRunner, offerCellRunner } from "../../src/shells/run_cell";
import { box, drawn, useBox } from "../helpers/dom";
import { aRow, aRun } from "../helpers/values";
import { fakeModel } from "../inspector/fake_model";

useBox();

function modelThat(answers: RunStartedAgain | null) {
  const startAgain = vi.fn(async () => answers);
  const openRun = vi.fn(async () => {});
  const onError = vi.fn();
  const model: Model = Object.assign(fakeModel(), { startAgain, openRun, onError });
  return { model, startAgain, openRun, onError };
}

const button = (name: string) =>
  box.querySelector<HTMLButtonElement>(`button[aria-label="${name}"]`);
const dialog = () => box.querySelector<HTMLElement>("[role=dialog]");

async function press(name: string): Promise<void> {
  button(name)?.click();
  await drawn();
}

test("the new run is shown", async () => {
  const { model, startAgain, openRun } = modelThat({ run: "new" });
  render(
    <StartButton model={model} run={aRun("old", {})} row={7} hint="h" label="Fork here" />,
    box,
  );
  await press("Fork here");
  expect(startAgain).toHaveBeenCalledWith({ run: "old", row: 7 });
  expect(openRun).toHaveBeenCalledWith("new");
});

test("a cell is shown to be copied, and Esc closes it", async () => {
  const { model } = modelThat({ cell: "%%step --fork old@7\nagent()" });
  render(<StartButton model={model} run={aRun("old", {})} hint="Run again" />, box);
  await press("Run again");
  expect(dialog()?.getAttribute("aria-label")).toBe("A cell to run");
  expect(dialog()?.textContent).toContain("%%step --fork old@7");
  expect(dialog()?.textContent).toContain("as they are now");
  dialog()?.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
  await drawn();
  expect(dialog()).toBeNull();
});

const KERNEL = "In this kernel";
const RESTART = "Restart, and run the cells above first";
const labelled = (text: string) =>
  [...box.querySelectorAll<HTMLButtonElement>("[role=dialog] button")].find(
    (each) => each.textContent === text,
  );

/** The page's notebook; none before a test sets one. */
const page: { runner: CellRunner | null } = { runner: null };
offerCellRunner(() => page.runner);
afterEach(() => {
  page.runner = null;
});

async function choose(text: string): Promise<void> {
  labelled(text)?.click();
  await drawn();
}

async function askForCell(runner: CellRunner): Promise<void> {
  page.runner = runner;
  const { model } = modelThat({ cell: "%%step\nagent()" });
  render(<StartButton model={model} run={aRun("old", {})} hint="Run again" />, box);
  await press("Run again");
}

test("a notebook whose kernel can't be restarted runs the cell at once", async () => {
  const run = vi.fn();
  await askForCell({ run });
  expect(run.mock.calls).toEqual([["%%step\nagent()"]]);
  expect(dialog()).toBeNull();
});

test("the person chooses the kernel, and is told what becomes of its names", async () => {
  const run = vi.fn();
  await askForCell({ run, runFresh: vi.fn() });
  expect(run).not.toHaveBeenCalled();
  expect(dialog()?.textContent).toContain("as they are now");
  expect(dialog()?.textContent).toContain("its names are gone");
  await choose(KERNEL);
  expect(run.mock.calls).toEqual([["%%step\nagent()"]]);
  expect(dialog()).toBeNull();
});

test("a restart is waited for, and closes the question", async () => {
  let finish = (_: null) => {};
  const run = vi.fn();
  const runFresh = vi.fn(() => new Promise<null>((resolve) => (finish = resolve)));
  await askForCell({ run, runFresh });
  await choose(RESTART);
  expect(runFresh.mock.calls).toEqual([["%%step\nagent()"]]);
  await choose(RESTART); // a second press does nothing
  await choose(KERNEL);
  expect([runFresh.mock.calls.length, run.mock.calls.length]).toEqual([1, 0]);
  finish(null);
  await drawn();
  expect(dialog()).toBeNull();
});

test.each([
  ["No open notebook has the cell.", async () => "No open notebook has the cell."],
  ["Error: no kernel", () => Promise.reject(new Error("no kernel"))],
])("why there is no restart is said, beside the cell's text: %s", async (why, runFresh) => {
  const run = vi.fn();
  await askForCell({ run, runFresh });
  await choose(RESTART);
  await drawn();
  expect(dialog()?.querySelector("[role=alert]")?.textContent).toBe(why);
  expect(dialog()?.querySelector("pre")?.textContent).toContain("agent()");
  await choose(KERNEL);
  expect(run).toHaveBeenCalled();
});

test("a program that has begun no run yet is told of; a refusal was told already", async () => {
  const late = modelThat({});
  render(<StartButton model={late.model} run={aRun("old", {})} hint="Run again" />, box);
  await press("Run again");
  expect(late.onError).toHaveBeenCalledWith(
    "cannot_start_again",
    expect.stringContaining("has begun no run yet"),
  );
  render(null, box);
  const refused = modelThat(null);
  render(<StartButton model={refused.model} run={aRun("old", {})} hint="Run again" />, box);
  await press("Run again");
  expect(refused.onError).not.toHaveBeenCalled();
  expect(refused.openRun).not.toHaveBeenCalled();
});

const forked = async (run: Parameters<typeof aRun>[1]) => {
  const all = modelThat({ run: "new" });
  const old = aRun("old", { workspace: "/home/me/project", state: "idle", ...run });
  render(<StartButton model={all.model} run={old} row={7} hint="h" label="Fork here" />, box);
  await press("Fork here");
  expect(all.startAgain).not.toHaveBeenCalled();
  expect(dialog()?.getAttribute("aria-label")).toBe("The fork’s folder");
  return all;
};
const choices = () => [...box.querySelectorAll<HTMLInputElement>("input[type=radio]")];
const act = async (name: string) => {
  const found = [...box.querySelectorAll("button")].find((each) => each.textContent === name);
  found?.click();
  await drawn();
};

test("a run with files is forked in a fresh folder unless in place is chosen", async () => {
  const fresh = await forked({});
  expect(choices().map(({ checked }) => checked)).toEqual([true, false]);
  expect(dialog()?.textContent).toContain("Nothing changes in /home/me/project.");
  await act("Fork");
  expect(fresh.startAgain).toHaveBeenCalledWith({ run: "old", row: 7, workspace: "fresh" });
  expect(dialog()).toBeNull();
  render(null, box);
  const inPlace = await forked({});
  choices()[1]?.click();
  await drawn();
  expect(dialog()?.textContent).toContain("files are replaced and deleted");
  await act("Fork in place");
  expect(inPlace.startAgain).toHaveBeenCalledWith({ run: "old", row: 7, workspace: "in_place" });
});

test("Esc and Cancel fork nothing, and Enter forks", async () => {
  const { startAgain } = await forked({});
  const pressKey = async (key: string) => {
    choices()[0]?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    await drawn();
  };
  await pressKey("Escape");
  expect(dialog()).toBeNull();
  await press("Fork here");
  await act("Cancel");
  expect(dialog()).toBeNull();
  expect(startAgain).not.toHaveBeenCalled();
  await press("Fork here");
  await pressKey("Enter");
  expect(startAgain).toHaveBeenCalledWith({ run: "old", row: 7, workspace: "fresh" });
});

test("files are not restored under a run that is halted", async () => {
  await forked({ state: "halted" });
  expect(choices().map(({ disabled }) => disabled)).toEqual([false, true]);
  expect(dialog()?.textContent).toContain("The run still works there");
});

test("a run without files, and one that runs again from its begin, are not asked about", async () => {
  const without = modelThat({ run: "new" });
  const bare = aRun("old", { workspace: null });
  render(<StartButton model={without.model} run={bare} row={7} hint="h" label="Fork here" />, box);
  await press("Fork here");
  expect(without.startAgain).toHaveBeenCalledWith({ run: "old", row: 7 });
  render(null, box);
  const again = modelThat({ run: "new" });
  const run = aRun("old", { workspace: "/w" });
  render(<StartButton model={again.model} run={run} hint="Run again" />, box);
  await press("Run again");
  expect(again.startAgain).toHaveBeenCalledWith({ run: "old" });
});

test.each([
  [{ state: "halted" }, { pending: true }, "The run is halted here: edit and step it"],
  [{ state: "idle" }, {}, null],
  [{ state: "halted" }, {}, null],
  [{ state: "continue" }, {}, "Halt the run to fork it"],
  [{ state: "idle" }, { kind: "program_started" }, /^A run is forked at a query/],
  [{ state: "idle" }, { side: null }, /^A run is forked at a query/],
  [{ state: "idle" }, { kind: "custom" }, null],
] as const)("where a run can be forked, and why not elsewhere: %o %o", (run, row, why) => {
  const { model } = modelThat(null);
  Object.assign(model.run, { value: aRun("r", run) });
  render(<ForkHere model={model} row={aRow(1, { kind: "llm_query", ...row })} />, box);
  const shown = button("Fork here");
  expect(shown?.getAttribute("aria-disabled")).toBe(why === null ? null : "true");
  if (why !== null) expect(shown?.title).toMatch(why);
});
