/** A view whose output was cleared while its agent is halted: it stays under its cell until the run ends. */
import type { RunControl } from "../model/controls";

/** Told to the document when a view was kept: the person has just lost its cell's output. */
export const KEPT = "agentstepper:kept";

/**
 * Put a view back under the cell that it was taken from.
 *
 * @param cell The cell's element.
 * @param node The view's element, which nobody else has any more.
 * @param leave Called once, when the run has ended or the view shows another.
 */
export function keepView(
  cell: HTMLElement,
  node: HTMLElement,
  control: RunControl,
  leave: () => void,
): void {
  const output = cell.querySelector(":scope > .jp-Cell-outputWrapper");
  // Beside the output area, which is hidden while it is empty.
  if (output) output.after(node);
  else cell.append(node);
  document.dispatchEvent(new Event(KEPT));
  const run = control.run();
  let unwatch = () => {};
  let gone = false;
  const look = () => {
    if (gone || (control.run() === run && control.lives())) return;
    gone = true;
    unwatch();
    leave();
    node.remove();
  };
  unwatch = control.watch(look);
  if (gone) unwatch();
}
