/** Running a cell in the notebook of the page, where the page has one. */

/** The notebook of the page, as JupyterLab's extension of ours offers it. */
export interface CellRunner {
  /** Put a text into a new cell and run it in the kernel as it is now. */
  run(text: string): void;
  /**
   * Restart the kernel of the notebook that has the recorded cell, run the cells above that cell, then the
   * text in a new cell below it. Gives why that can't be, or null. It isn't there where the page can't.
   */
  runFresh?(text: string): Promise<string | null>;
}

/** Asked of the page, which answers in the event's detail. */
const FIND_RUNNER = "agentstepper:find-cell-runner";

interface Found {
  runner: CellRunner | null;
}

/**
 * Run the cells that are to be run on this page; for as long as the page lives.
 *
 * @param find Gives what runs them; null where no notebook is shown.
 */
export function offerCellRunner(find: () => CellRunner | null): void {
  document.addEventListener(FIND_RUNNER, (event) => {
    const { detail } = event as CustomEvent<Found>;
    detail.runner ??= find();
  });
}

/** What runs cells on this page; null where nothing does. */
export function findCellRunner(): CellRunner | null {
  const detail: Found = { runner: null };
  document.dispatchEvent(new CustomEvent(FIND_RUNNER, { detail }));
  return detail.runner;
}
