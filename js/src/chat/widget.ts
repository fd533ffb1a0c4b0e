/**
 * The `_esm` of `ChatWidget`: the whole view in one file, so that it needs nothing of the page. The chat
 * lives in the kernel, which is spoken to by the widget's comm, also while a cell runs.
 */

import { type CommModel, commTransport } from "../client/comm";
import { browserTimers, type Timers } from "../client/transport";
import { type CoreTraits, reachOf } from "../shells/server";
import { Views } from "../shells/standing";
import { dress, onPageChange } from "../shells/theme";
import { addStyles, mountChat } from "./mount";

/** What anywidget hands over of a widget's model, as far as it is used. */
export interface Widget extends CommModel, CoreTraits {
  get(name: "direct"): boolean;
  get(name: "session" | "page" | "command"): string;
  get(name: "height"): number;
}

const ENDED =
  "The kernel was restarted or has ended, and the chat with it. Run the chat’s cells again: conversations " +
  "that were kept can be opened from the list.";

export default (timers: Timers = browserTimers) => {
  const views = new Views(timers);
  // Its listeners last as long as the widget; those of a render's model only as long as that element.
  let own: Widget;
  return {
    initialize({ model }: { model: Widget }) {
      own = model;
      return () => views.close();
    },
    render: ({ el }: { model: Widget; el: HTMLElement }) =>
      views.show(el, (host) => show(own, host), settle),
  };
};

function show(model: Widget, host: HTMLElement): () => void {
  dress(host);
  const reach = () => reachOf(model, (run) => model.get("command").replace("{run}", () => run));
  const session = model.get("session");
  const transport = commTransport(model, browserTimers, ENDED);
  const leave = mountChat(host, transport, { session, height: model.get("height"), reach });
  const forget = onPageChange(() => dress(host));
  return () => {
    forget();
    leave();
  };
}

/** Drawn before it stands anywhere: what is behind it, and in which root, is known only now. */
function settle(host: HTMLElement): void {
  dress(host);
  addStyles(host);
}
