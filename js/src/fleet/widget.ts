/** The `_esm` of `FleetWidget`: the whole view in one file, so that it needs nothing of the page. */

import { relayedWidget } from "../shells/relayed";
import { addStyles, mountFleet } from "./mount";

export default relayedWidget(
  (_, host, transport, options) => mountFleet(host, transport, options),
  addStyles,
);
