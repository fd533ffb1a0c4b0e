/** Renders the outputs of `show()`: the view, straight to the Core, whatever the kernel does. */
import type { MimeExtension, MimeModel, Renderer, WidgetClass } from "./jupyterlab";
import { type Presence, present } from "./presence";
import { keepScroll } from "./scroll";
import { type ShareScope, take } from "./share_scope";
import { MIME, readViewData, sameView, type ViewData } from "./view_data";

/** Before ipywidgets, which has -10: the same output also holds an anywidget. */
const RANK = -20;

export async function viewExtension(scope: ShareScope): Promise<MimeExtension> {
  const { Widget } = await take(scope, "@lumino/widgets");
  return {
    id: "agentstepper_nb:view",
    description: "The agent debugger’s view in a cell’s output.",
    rank: RANK,
    rendererFactory: {
      safe: true,
      mimeTypes: [MIME],
      createRenderer: () => makeRenderer(Widget),
    },
  };
}

export function makeRenderer(Base: WidgetClass): Renderer {
  return new (class extends Base {
    #data: ViewData | string | null = null;
    #presence: Presence | null = null;
    #putBack = () => {};

    /** Called again when the output changes: the static timeline is added to it when the run ends. */
    async renderModel({ data }: MimeModel): Promise<void> {
      const asked = readViewData(data[MIME]);
      if (sameView(asked, this.#data)) return;
      this.#data = asked;
      this.#presence?.leave();
      this.#presence = typeof asked === "string" ? null : show(this.node, asked);
      if (typeof asked === "string") this.node.textContent = asked;
    }

    override dispose(): void {
      if (this.isDisposed) return;
      this.#presence?.leave();
      super.dispose();
    }

    // A windowed notebook takes a cell out of the document when it is scrolled away, and puts it back.
    protected override onBeforeDetach(): void {
      this.#putBack = keepScroll(this.node);
    }

    protected override onAfterAttach(): void {
      this.#putBack();
    }
  })();
}

function show(node: HTMLElement, { run, follow, height }: ViewData): Presence {
  return present(node, (app, element) =>
    app.mount(element, run, { goOn: follow, ...(height !== undefined && { height }) }),
  );
}
