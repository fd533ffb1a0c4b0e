/** Running a cell in the notebook of the page, where the page has one. */

/** Asked of the page: JupyterLab's extension of ours takes it, and says so by `preventDefault`. */
const RUN_CELL = "agentstepper:run-cell";

/**
 * Take each cell that is to be run on this page; for as long as the page lives.
 *
 * @param run Puts a text into a new cell and runs it; false where there is no notebook.
 */
export function onRunCell(run: (text: string) => boolean): void {
  document.addEventListener(RUN_CELL, (event) => {
    if (run((event as CustomEvent<string>).detail)) event.preventDefault();
  });
}

/** Run a cell; false where the page can't. */
export function runCell(text: string): boolean {
  return !document.dispatchEvent(new CustomEvent(RUN_CELL, { detail: text, cancelable: true }));
}
