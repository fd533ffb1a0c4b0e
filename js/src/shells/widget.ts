/** What both forms of the anywidget's `_esm` have in common: a view that follows the widget's traits. */
import { browserTimers, type Timers } from "../client/transport";
import type { Mounted, MountOptions } from "../mount";
import { WidgetViews } from "./widget_views";

/** What anywidget hands over of a widget's model, as far as it is used. */
export interface Widget {
  get(name: "run" | "base_url"): string;
  get(name: "height"): number;
  get(name: "follow"): boolean;
  get(name: "via"): MountOptions["coreRoute"];
  send(content: unknown): void;
  on(event: string, callback: (...heard: never[]) => void): void;
  off(event: string, callback: (...heard: never[]) => void): void;
}

interface Shell<W> {
  initialize(given: { model: W }): () => void;
  render(given: { model: W; el: HTMLElement }): () => void;
}

const USUAL_HEIGHT = 520;

/**
 * A widget's module: called by anywidget once for each widget.
 *
 * @param view Draws into a host, and gives back how to end it.
 * @param settle Called whenever the host has come into a document.
 */
export function widgetShell<W = Widget>(
  view: (model: W, host: HTMLElement, timers: Timers) => () => void,
  settle?: (host: HTMLElement) => void,
) {
  return (timers: Timers = browserTimers): Shell<W> => {
    const views = new WidgetViews(timers);
    // Its listeners last as long as the widget; those of a render's model only as long as that element.
    let own: W;
    return {
      initialize({ model }) {
        own = model;
        return () => views.close();
      },
      render: ({ el }) => views.show(el, (host) => view(own, host, timers), settle),
    };
  };
}

/** Mount a view as the widget's traits say, and lead it along when they change. */
export function mountWidget(
  model: Widget,
  mount: (run: string, options: MountOptions) => Mounted,
): () => void {
  const height = model.get("height");
  const mounted = mount(model.get("run"), {
    followsNewRuns: model.get("follow"),
    ...(height !== USUAL_HEIGHT && { height }),
  });
  const onRun = () => mounted.show(model.get("run"));
  model.on("change:run", onRun);
  return () => {
    model.off("change:run", onRun);
    mounted();
  };
}
