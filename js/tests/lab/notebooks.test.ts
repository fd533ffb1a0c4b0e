/** Cells that run again in JupyterLab: in the kernel as it is, and in a restarted one. */
import { expect, test, vi } from "vitest";
import type {
  Cell,
  Commands,
  NotebookActions,
  NotebookPanel,
  ShareScope,
  Shell,
} from "../../src/lab/jupyterlab";
import {
  CELL_GONE,
  FAILED_ABOVE,
  findNotebookRunner,
  NO_CELL,
  NO_KERNEL,
} from "../../src/lab/notebooks";

const FORK = "%%step --fork r@7\nagent()\n";

/** A notebook of these cells, and what is done with it, in turn. */
function aNotebook(id: string, sources: string[], kernel: object | null = {}) {
  const done: string[] = [];
  const aCell = (source: string): Cell => {
    let text = source;
    const sharedModel = {
      getSource: () => text,
      setSource(now: string) {
        text = now;
      },
    };
    return { model: { sharedModel } };
  };
  const cells = sources.map(aCell);
  const panel = {
    id,
    content: {
      widgets: cells,
      activeCellIndex: 0,
      get activeCell() {
        return cells[this.activeCellIndex] ?? null;
      },
    },
    sessionContext: {
      session: { kernel },
      async restartKernel() {
        done.push("restart");
      },
    },
  };
  const actions = {
    async runAllAbove({ activeCellIndex }: NotebookPanel["content"]) {
      done.push(`above ${activeCellIndex}`);
      return true;
    },
    insertBelow(notebook: NotebookPanel["content"]) {
      notebook.activeCellIndex += 1;
      cells.splice(notebook.activeCellIndex, 0, aCell(""));
    },
    async run({ activeCell }: NotebookPanel["content"]) {
      done.push(`run ${activeCell?.model.sharedModel.getSource()}`);
      return true;
    },
  };
  return { panel, cells, actions, done };
}

type FakeNotebook = ReturnType<typeof aNotebook>;

/** What runs cells on a page that shows the first of these notebooks. */
function runnerOf(shown: FakeNotebook, ...others: FakeNotebook[]) {
  const commands = { hasCommand: () => true, isEnabled: () => true, execute: vi.fn() };
  const activateById = vi.fn();
  const widgets = () => [shown, ...others].map(({ panel }) => panel);
  const shell = { currentWidget: shown.panel, widgets, activateById };
  const actionsOf = (notebook: unknown) =>
    [shown, ...others].find(({ panel }) => panel.content === notebook)?.actions ?? shown.actions;
  const actions: NotebookActions = {
    runAllAbove: (notebook) => actionsOf(notebook).runAllAbove(notebook),
    insertBelow: (notebook) => actionsOf(notebook).insertBelow(notebook),
    run: (notebook) => actionsOf(notebook).run(notebook),
  };
  const scope: ShareScope = {
    "@jupyterlab/notebook": { "4.4.0": { get: () => () => ({ NotebookActions: actions }) } },
  };
  const runner = findNotebookRunner(
    commands as unknown as Commands,
    shell as unknown as Shell,
    scope,
  );
  if (!runner?.runFresh) throw new Error("nothing runs cells");
  return { runFresh: runner.runFresh, run: runner.run, commands, activateById };
}

test("the kernel restarts, the cells above run, and then the cell", async () => {
  const shown = aNotebook("n", ["import x", "%%step 'my agent'\nagent()", "after()"]);
  const { runFresh, activateById } = runnerOf(shown);
  expect(await runFresh(FORK)).toBeNull();
  expect(shown.done).toEqual(["restart", "above 1", `run ${FORK}`]);
  expect(shown.cells.map(({ model }) => model.sharedModel.getSource())).toEqual([
    "import x",
    "%%step 'my agent'\nagent()",
    FORK,
    "after()",
  ]);
  expect(activateById).toHaveBeenCalledWith("n");
});

test("above the first cell there is nothing to run", async () => {
  const shown = aNotebook("n", ["\n%%step\nagent()\n\n"]);
  expect(await runnerOf(shown).runFresh(FORK)).toBeNull();
  expect(shown.done).toEqual(["restart", `run ${FORK}`]);
});

test("the cell is found in a notebook that isn't shown", async () => {
  const shown = aNotebook("n", ["agent()"]);
  const other = aNotebook("m", ["x = 1", "%%step\nagent()"]);
  const { runFresh, activateById } = runnerOf(shown, other);
  // Without the magic it is another cell.
  expect(await runFresh(FORK)).toBeNull();
  expect([shown.done, other.done]).toEqual([[], ["restart", "above 1", `run ${FORK}`]]);
  expect(activateById).toHaveBeenCalledWith("m");
});

test.each([
  ["a changed cell", aNotebook("n", ["%%step\nother()"]), NO_CELL],
  ["no kernel", aNotebook("n", ["%%step\nagent()"], null), NO_KERNEL],
])("without the cell or a kernel nothing is restarted: %s", async (_, shown, why) => {
  expect(await runnerOf(shown).runFresh(FORK)).toBe(why);
  expect(shown.done).toEqual([]);
});

test("a cell that fails above ends it", async () => {
  const shown = aNotebook("n", ["1 / 0", "%%step\nagent()"]);
  shown.actions.runAllAbove = async () => false;
  expect(await runnerOf(shown).runFresh(FORK)).toBe(FAILED_ABOVE);
  expect(shown.done).toEqual(["restart"]);
});

test("a cell that a person moves or deletes meanwhile is found again, or not run", async () => {
  const moved = aNotebook("n", ["import x", "%%step\nagent()"]);
  moved.actions.runAllAbove = async () => moved.cells.splice(0, 1).length > 0;
  expect(await runnerOf(moved).runFresh(FORK)).toBeNull();
  expect(moved.panel.content.activeCellIndex).toBe(1);
  const deleted = aNotebook("n", ["import x", "%%step\nagent()"]);
  deleted.actions.runAllAbove = async () => deleted.cells.splice(1, 1).length > 0;
  expect(await runnerOf(deleted).runFresh(FORK)).toBe(CELL_GONE);
  expect(deleted.done).toEqual(["restart"]);
});

test("in the kernel as it is, a new cell of the shown notebook runs", async () => {
  const { run, commands } = runnerOf(aNotebook("n", []));
  run(FORK);
  await vi.waitFor(() => expect(commands.execute).toHaveBeenCalledTimes(3));
  expect(commands.execute.mock.calls).toEqual([
    ["notebook:insert-cell-below", {}],
    ["notebook:replace-selection", { text: FORK }],
    ["notebook:run-cell", {}],
  ]);
});

test("where no notebook is shown nothing runs cells; an older page restarts no kernel", () => {
  const shell = { widgets: () => [], activateById: vi.fn() } as unknown as Shell;
  const find = (enabled: boolean) =>
    findNotebookRunner(
      { hasCommand: () => true, isEnabled: () => enabled } as unknown as Commands,
      shell,
      {},
    );
  expect(find(false)).toBeNull();
  expect(find(true)?.runFresh).toBeUndefined();
});
