/** From a stop's hit to the row where it was. */
import type { Debugger } from "../model/debugger";

/** Show a row of a run by its number; the strip says why where the run can't be shown. */
export async function goTo(model: Debugger, run: string, seq: number): Promise<void> {
  if (model.run.peek()?.id !== run) await model.openRun(run);
  if (model.run.peek()?.id === run) model.reveal(seq);
}
