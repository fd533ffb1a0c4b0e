/** The `_esm` of `SessionsWidget`: the whole view in one file, so that it needs nothing of the page. */

import { type RelayedModel, relayedWidget } from "../shells/relayed";
import { addStyles, mountSessions } from "./mount";

/** What anywidget hands over of a widget's model, as far as it is used. */
export interface Widget extends RelayedModel {
  get(name: "conversation" | "page"): string;
  get(name: "height"): number;
  get(name: "direct"): boolean;
}

export default relayedWidget<Widget>(
  (model, host, transport, options) =>
    mountSessions(host, transport, { ...options, conversation: model.get("conversation") }),
  addStyles,
);
