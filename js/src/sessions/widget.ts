/**
 * The `_esm` of `SessionsWidget`: the whole view in one file, so that it needs nothing of the page. Where
 * the kernel's own Jupyter server has the Core it talks to that, past the kernel, which may be blocked;
 * else the kernel relays.
 */

import { type CommModel, commTransport } from "../client/comm";
import { browserTimers, type Transport } from "../client/transport";
import { serverTransport } from "../client/websocket";
import { accessOf, ownServer, pageConfig } from "../shells/server";
import { themedShell } from "../shells/theme";
import { addStyles, type MountOptions, mountSessions } from "./mount";

/** What anywidget hands over of a widget's model, as far as it is used. */
export interface Widget extends CommModel {
  get(name: "conversation" | "page"): string;
  get(name: "height"): number;
  get(name: "direct"): boolean;
}

/** Where the runtime is, behind a Jupyter server's base URL. */
const PATH = "agentstepper/runtime";
const ENDED =
  "The kernel was restarted or has ended: the agents go on. Run the cell again to see them.";

export default themedShell<Widget>((model, host) => {
  const options = { conversation: model.get("conversation"), height: model.get("height") };
  return mountSessions(host, ...connectCore(model, options));
}, addStyles);

/** How the Core is reached, and the runs that it has. */
function connectCore(model: Widget, options: MountOptions): [Transport, MountOptions] {
  const own = ownServer(model);
  const transport = own ? serverTransport(own, pageConfig()?.token, PATH) : relayTransport(model);
  const getRunAccess = accessOf(model, (run) => `agentstepper step --run ${run}`);
  return [transport, { ...options, ...getRunAccess }];
}

/** Through the kernel; where that is another one now, nothing of the Core's is lost. */
const relayTransport = (model: Widget): Transport => commTransport(model, browserTimers, ENDED);
