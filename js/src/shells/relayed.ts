/**
 * Widgets that ask a Core's runtime. Where the kernel's own Jupyter server has the Core, the view talks
 * to that, past the kernel, which may be blocked; else the kernel relays.
 */
import { type CommModel, commTransport } from "../client/comm";
import { browserTimers, type Transport } from "../client/transport";
import { serverTransport } from "../client/websocket";
import { accessOf, ownServer, pageConfig, type RunAccess } from "./server";
import { themedShell } from "./theme";

/** What anywidget hands over of such a widget's model, as far as it is used. */
export interface RelayedModel extends CommModel {
  get(name: "page"): string;
  get(name: "height"): number;
  get(name: "direct"): boolean;
}

/** Where the runtime is, behind a Jupyter server's base URL. */
const PATH = "agentstepper/runtime";
const ENDED =
  "The kernel was restarted or has ended: the agents go on. Run the cell again to see them.";

/** The height to begin with, in pixels, and how runs are opened. */
export type RelayedOptions = RunAccess & { height: number };

/**
 * The `_esm` of such a widget.
 *
 * @param mount Draws the view; gives back how to end it.
 * @param addStyles Gives an element's document the stylesheet.
 */
export function relayedWidget<M extends RelayedModel>(
  mount: (model: M, host: HTMLElement, transport: Transport, options: RelayedOptions) => () => void,
  addStyles: (element: Element) => void,
) {
  return themedShell<M>((model, host) => {
    const own = ownServer(model);
    // Through the kernel; where that is another one now, nothing of the Core's is lost.
    const transport = own
      ? serverTransport(own, pageConfig()?.token, PATH)
      : commTransport(model, browserTimers, ENDED);
    const runAccess = accessOf(model, (run) => `agentstepper step --run ${run}`);
    return mount(model, host, transport, { height: model.get("height"), ...runAccess });
  }, addStyles);
}
