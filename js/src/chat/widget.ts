/**
 * The `_esm` of `ChatWidget`: the whole view in one file, so that it needs nothing of the page. The chat
 * lives in the kernel, which is spoken to by the widget's comm, also while a cell runs.
 */

import { type CommModel, commTransport } from "../client/comm";
import { browserTimers } from "../client/transport";
import { accessOf, type CoreAccessInfo } from "../shells/server";
import { themedShell } from "../shells/theme";
import { addStyles, mountChat } from "./mount";

/** What anywidget hands over of a widget's model, as far as it is used. */
export interface Widget extends CommModel, CoreAccessInfo {
  get(name: "direct"): boolean;
  get(name: "session" | "page" | "command"): string;
  get(name: "height"): number;
}

const ENDED =
  "The kernel was restarted or has ended, and the chat with it. Run the chat’s cells again: conversations " +
  "that are stored can be opened from the list.";

export default themedShell<Widget>((model, host) => {
  const getRunAccess = () =>
    accessOf(model, (run) => model.get("command").replace("{run}", () => run));
  const session = model.get("session");
  const transport = commTransport(model, browserTimers, ENDED);
  return mountChat(host, transport, { session, height: model.get("height"), getRunAccess });
}, addStyles);
