/** Which run the commands and keys are for: the panel's, else that of a view under a cell that is shown. */
import { isUsable } from "../model/controls";
import type { RunControl } from "../model/run_control";
import { onViews, type ShownView, shownViews } from "../shells/views";

/** On the body while there is such a run and it lives: only then the F keys are the debugger's. */
export const LIVE = "as-mod-live";

interface HasControl {
  readonly control: RunControl | null;
}

export class Commanded {
  readonly #panel: HasControl;
  readonly #changed: () => void;
  readonly #unwatch = new Map<ShownView, () => void>();

  /** @param changed Called when another run may be the one, or its state another one. */
  constructor(panel: HasControl, changed: () => void) {
    this.#panel = panel;
    this.#changed = changed;
  }

  /** Follow the views of this page, for as long as it lives. */
  start(): void {
    onViews(() => this.#follow());
    this.#follow();
  }

  /** The run's control; null where no view is seen. */
  get control(): RunControl | null {
    const panel = this.#panel.control;
    if (panel && lives(panel)) return panel;
    const seen = [...shownViews()].filter(isSeen).map(({ control }) => control);
    const live = seen.filter(lives);
    return live.findLast((each) => each.halted()) ?? live.at(-1) ?? panel ?? null;
  }

  /** The view under a cell whose agent is halted, the newest one; null: none. */
  get halted(): ShownView | null {
    return [...shownViews()].findLast(({ control }) => control.halted()) ?? null;
  }

  /** Look again: what is seen may be something else. */
  update(): void {
    const control = this.control;
    document.body.classList.toggle(LIVE, control !== null && lives(control));
    this.#changed();
  }

  #follow(): void {
    const views = shownViews();
    for (const [view, unwatch] of this.#unwatch) {
      if (views.has(view)) continue;
      unwatch();
      this.#unwatch.delete(view);
    }
    for (const view of views) {
      if (this.#unwatch.has(view)) continue;
      this.#unwatch.set(view, () => {}); // it may be told at once
      this.#unwatch.set(
        view,
        view.control.watch(() => this.update()),
      );
    }
    this.update();
  }
}

/** Whether a view is in the document and not in a tab that is hidden. */
export function isSeen({ element }: ShownView): boolean {
  return element.isConnected && element.getClientRects().length > 0;
}

function lives(control: RunControl): boolean {
  const { step, resume, halt } = control.possible();
  return [step, resume, halt].some(isUsable);
}
