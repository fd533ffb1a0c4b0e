/** The views that stand on a page: what JupyterLab's extension of ours gives keys and commands to. */
import type { RunControl } from "../model/controls";

export interface ShownView {
  readonly element: HTMLElement;
  readonly control: RunControl;
}

/** The views are known to the document: the app and the extension are two programs. */
declare global {
  interface Document {
    agentstepperViews?: Set<ShownView>;
  }
}

const CHANGED = "agentstepper:views";

/** All views of this page that stand under cells, the newest last. */
export function shownViews(): ReadonlySet<ShownView> {
  return known();
}

function known(): Set<ShownView> {
  document.agentstepperViews ??= new Set();
  return document.agentstepperViews;
}

/**
 * Make a view known to the page.
 *
 * @returns Ends it.
 */
export function announceView(view: ShownView): () => void {
  const views = known();
  views.add(view);
  document.dispatchEvent(new Event(CHANGED));
  return () => {
    views.delete(view);
    document.dispatchEvent(new Event(CHANGED));
  };
}

/** Hear of views that come and go; for as long as the page lives. */
export function onViews(changed: () => void): void {
  document.addEventListener(CHANGED, changed);
}
