/** Runs recorded cells in JupyterLab's notebooks: in the kernel as it is, or in a restarted one. */
import type { CellRunner } from "../shells/run_cell";
import {
  type Cell,
  type Commands,
  findModule,
  type NotebookActions,
  type NotebookPanel,
  type ShareScope,
  type Shell,
} from "./jupyterlab";

const INSERT = "notebook:insert-cell-below";
const WRITE = "notebook:replace-selection";

export const NO_CELL =
  "No open notebook has the recorded cell any more: it was changed or deleted, or its notebook is closed. The kernel was not restarted.";
export const NO_KERNEL = "The notebook has no kernel that could be restarted: choose one for it.";
export const FAILED_ABOVE =
  "The kernel was restarted, and a cell above the recorded one failed: the cell was not run. Correct the cell that failed.";
export const CELL_GONE =
  "The kernel was restarted, and the recorded cell was deleted meanwhile: the cell was not run.";

/**
 * What runs cells in the notebook that is shown; null where none is.
 *
 * @param scope The page's packages, of which JupyterLab's own for notebooks is taken when it is needed.
 */
export function findNotebookRunner(
  commands: Commands,
  shell: Shell,
  scope: ShareScope,
): CellRunner | null {
  if (![INSERT, WRITE].every((id) => commands.hasCommand(id)) || !commands.isEnabled(INSERT, {}))
    return null;
  const run = (text: string) => void runInNewCell(commands, text);
  if (!scope["@jupyterlab/notebook"]) return { run };
  return {
    run,
    async runFresh(text) {
      const { NotebookActions } = await findModule(scope, "@jupyterlab/notebook");
      return runInFreshKernel(text, shell, NotebookActions);
    },
  };
}

/** Put a text into a new cell of the notebook that is shown, and run it. */
async function runInNewCell(commands: Commands, text: string): Promise<void> {
  await commands.execute(INSERT, {});
  await commands.execute(WRITE, { text });
  await commands.execute("notebook:run-cell", {});
}

/**
 * Restart the kernel of the notebook that has a recorded cell, run the cells above, and then a text in a
 * new cell below; the notebook is led directly, since the person may look at another one meanwhile.
 *
 * @param text A `%%step` line, and below it the recorded source.
 * @returns Why that can't be; null where it was done. The new cell still runs then.
 */
export async function runInFreshKernel(
  text: string,
  shell: Shell,
  actions: NotebookActions,
): Promise<string | null> {
  const found = findRecordedCell(text, shell);
  if (!found) return NO_CELL;
  const { panel, cell } = found;
  const { content: notebook, sessionContext } = panel;
  if (!sessionContext.session?.kernel) return NO_KERNEL;
  shell.activateById(panel.id);
  await sessionContext.restartKernel();
  notebook.activeCellIndex = notebook.widgets.indexOf(cell);
  // Of the first cell nothing is above, which JupyterLab takes for a failure.
  if (notebook.activeCellIndex > 0 && !(await actions.runAllAbove(notebook, sessionContext)))
    return FAILED_ABOVE;
  const at = notebook.widgets.indexOf(cell);
  if (at < 0) return CELL_GONE;
  notebook.activeCellIndex = at;
  actions.insertBelow(notebook);
  notebook.activeCell?.model.sharedModel.setSource(text);
  void actions.run(notebook, sessionContext); // it may halt for hours
  return null;
}

// ---- the recorded cell -------------------------------------------------------------------------------

interface FoundCell {
  panel: NotebookPanel;
  cell: Cell;
}

/** The first cell with a source, in the notebook that is shown or in another one. */
function findRecordedCell(text: string, shell: Shell): FoundCell | null {
  const source = bodyOf(text);
  for (const panel of [shell.currentWidget, ...shell.widgets("main")].filter(isNotebook)) {
    const cell = panel.content.widgets.find(({ model }) => {
      const own = model.sharedModel.getSource().trimStart();
      return own.startsWith("%%step") && bodyOf(own) === source;
    });
    if (cell) return { panel, cell };
  }
  return null;
}

/** What stands below the magic's line, without what IPython puts at its end. */
function bodyOf(text: string): string {
  const end = text.indexOf("\n");
  return end < 0 ? "" : text.slice(end + 1).trimEnd();
}

function isNotebook(widget: unknown): widget is NotebookPanel {
  const { content, sessionContext } = (widget ?? {}) as Partial<NotebookPanel>;
  return Array.isArray(content?.widgets) && sessionContext !== undefined;
}
