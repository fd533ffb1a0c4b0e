/**
 * Renders the outputs of `show()`: the view, straight to the Core, whatever the kernel does. Where the
 * Core doesn't know the run any more, the timeline that was kept with the notebook.
 */

import type { RunControl } from "../model/controls";
import {
  findModule,
  type MimeExtension,
  type MimeModel,
  type Renderer,
  type ShareScope,
  type WidgetClass,
} from "./jupyterlab";
import { type MountedView, mountView } from "./panel";

/** Before all others that may draw a form of the same output; ipywidgets has -10. */
const RANK = -20;

/** Of the view under a cell, in pixels. */
const USUAL_HEIGHT = 520;

const HTML = "text/html";
const KEPT = "This run is no longer in the debugger; its timeline is stored in the notebook.";

export async function viewExtension(scope: ShareScope): Promise<MimeExtension> {
  const [{ Widget }, { htmlRendererFactory }] = await Promise.all([
    findModule(scope, "@lumino/widgets"),
    findModule(scope, "@jupyterlab/rendermime"),
  ]);
  return {
    id: "agentstepper_nb:view",
    description: "The agent debugger’s view in a cell’s output.",
    rank: RANK,
    rendererFactory: {
      safe: true,
      mimeTypes: [MIME],
      createRenderer: (options) =>
        makeRenderer(Widget, () =>
          htmlRendererFactory.createRenderer({ ...options, mimeType: HTML }),
        ),
    },
  };
}

/**
 * Make the renderer of one output.
 *
 * @param html Makes the page's own renderer of HTML.
 */
export function makeRenderer(Base: WidgetClass, html: () => Renderer): Renderer {
  return new (class extends Base {
    #data: ViewData | string | null = null;
    #model: MimeModel | null = null;
    #presence: MountedView | null = null;
    #savedView: Renderer | null = null;
    #putBack = () => {};
    #cell: HTMLElement | null = null;

    /** Called again when the output changes: the static timeline is added to it when the run ends. */
    async renderModel(model: MimeModel): Promise<void> {
      const viewData = readViewData(model.data[MIME]);
      const same = sameView(viewData, this.#data);
      this.#model = model;
      this.#data = viewData;
      if (same) return;
      this.#clear();
      if (typeof viewData === "string") this.node.textContent = viewData;
      else this.#presence = show(this.node, viewData, () => void this.#showSavedView());
    }

    override dispose(): void {
      if (this.isDisposed) return;
      const presence = this.#presence;
      const control = presence?.view?.control;
      const cell = this.#cell;
      // A halted agent's view stays: its cell was run again, say, and waits for the very agent.
      if (presence && control?.isHalted() && cell?.isConnected) {
        this.#presence = null;
        super.dispose();
        saveView(cell, this.node, control, () => presence.leave());
        return;
      }
      this.#clear();
      super.dispose();
    }

    async #showSavedView(): Promise<void> {
      const model = this.#model;
      if (!model || typeof this.#data === "string" || !this.#data?.kept) return;
      this.#clear();
      const kept = html();
      this.#savedView = kept;
      this.node.replaceChildren(note(KEPT), kept.node);
      // Always sanitised: it loses nothing by that, and the notebook may be anybody's.
      await kept.renderModel({ data: model.data, metadata: {}, trusted: false });
    }

    #clear(): void {
      this.#presence?.leave();
      this.#presence = null;
      this.#savedView?.dispose();
      this.#savedView = null;
    }

    // A windowed notebook takes a cell out of the document when it is scrolled away, and puts it back.
    protected override onBeforeDetach(): void {
      this.#putBack = keepScroll(this.node);
    }

    protected override onAfterAttach(): void {
      this.#cell = this.node.closest<HTMLElement>(".jp-Cell");
      this.#putBack();
    }
  })();
}

function show(
  node: HTMLElement,
  { run, follow, height }: ViewData,
  onAbsent: () => void,
): MountedView {
  node.replaceChildren(room(height ?? USUAL_HEIGHT));
  return mountView(node, (app, element) =>
    app.mount(element, run, {
      followsNewRuns: follow,
      onAbsent,
      ...(height !== undefined && { height }),
    }),
  );
}

/** Stands for the view until it is there, so that what is below doesn't move. */
function room(height: number): HTMLElement {
  const empty = document.createElement("div");
  empty.style.height = `${height}px`;
  return empty;
}

function note(text: string): HTMLElement {
  const line = document.createElement("p");
  line.textContent = text;
  line.style.cssText =
    "margin: 0 0 8px; color: var(--jp-ui-font-color2); font: 13px/19px var(--jp-ui-font-family)";
  return line;
}

// ---- Elements forget how far they were scrolled when they leave the document.

/** Note how far the scrollers of a view are scrolled; gives what puts them back. */
function keepScroll(element: HTMLElement): () => void {
  const places = [...element.querySelectorAll(".as-Scroll")].map(
    (scroller) => [scroller, scroller.scrollTop] as const,
  );
  return () => {
    for (const [scroller, top] of places) scroller.scrollTop = top;
  };
}

// ---- What an output of our MIME type says. It comes from a file: anything may stand in it.

export const MIME = "application/vnd.agentstepper.view+json";

/** The view that an output asks for. */
export interface ViewData {
  /** The run's id; "" is the newest. */
  run: string;
  /** Whether to go on to a run that begins once this one has ended. */
  follow: boolean;
  /** Of the view, in pixels. */
  height?: number;
  /** Whether the output's HTML is the timeline of the run, which has ended. */
  kept: boolean;
}

/** Longer than any id, so that nobody puts a book into an address. */
const LONGEST_ID = 200;

/**
 * Read an output's data.
 *
 * @returns The view, or a sentence that says what is wrong.
 */
export function readViewData(data: unknown): ViewData | string {
  if (typeof data !== "object" || data === null || Array.isArray(data)) {
    return "This output is not the agent debugger’s: its data is not an object.";
  }
  const { run, follow = false, height, kept = false } = data as Record<string, unknown>;
  if (typeof run !== "string" || run.length > LONGEST_ID) return wrong("run", "a run’s id");
  if (typeof follow !== "boolean") return wrong("follow", "true or false");
  if (typeof kept !== "boolean") return wrong("kept", "true or false");
  if (height === undefined) return { run, follow, kept };
  if (typeof height !== "number" || !Number.isFinite(height)) {
    return wrong("height", "a number of pixels");
  }
  return { run, follow, height, kept };
}

function wrong(field: string, wanted: string): string {
  return `The agent debugger can’t show this output: its “${field}” is not ${wanted}. Run the cell again.`;
}

/** Whether two outputs ask for the same view, whatever is kept beside it. */
export function sameView(a: ViewData | string | null, b: ViewData | string | null): boolean {
  return asks(a) === asks(b);
}

function asks(data: ViewData | string | null): string {
  return JSON.stringify(data, (key, value) => (key === "kept" ? undefined : value));
}

// ---- A view whose output was cleared while its agent is halted: it stays under its cell until the run ends.

/** Told to the document when a view was kept: the person has just lost its cell's output. */
export const VIEW_SAVED_EVENT = "agentstepper:kept";

/**
 * Put a view back under the cell that it was taken from.
 *
 * @param cell The cell's element.
 * @param node The view's element, which nobody else has any more.
 * @param leave Called once, when the run has ended or the view shows another.
 */
export function saveView(
  cell: HTMLElement,
  node: HTMLElement,
  control: RunControl,
  leave: () => void,
): void {
  const output = cell.querySelector(":scope > .jp-Cell-outputWrapper");
  // Beside the output area, which is hidden while it is empty.
  if (output) output.after(node);
  else cell.append(node);
  document.dispatchEvent(new Event(VIEW_SAVED_EVENT));
  const run = control.run();
  let unwatch = () => {};
  let gone = false;
  const look = () => {
    if (gone || (control.run() === run && control.isLive())) return;
    gone = true;
    unwatch();
    leave();
    node.remove();
  };
  unwatch = control.watch(look);
  if (gone) unwatch();
}
