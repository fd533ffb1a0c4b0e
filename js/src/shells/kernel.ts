/**
 * The anywidget's `_esm` where the Core is in the kernel: the whole view in one file, since there may be
 * no server to fetch it from. It assumes nothing of the page: VS Code and Colab have no JupyterLab around.
 */
import { commTransport } from "../client/comm";
import { mount } from "../mount";
import { addStyles } from "../styles";
import { themedShell } from "./theme";
import { mountWidget } from "./widget";

export default themedShell(
  (model, host, timers) =>
    mountWidget(model, (run, options) => {
      const coreRoute = model.get("via");
      return mount(host, commTransport(model, timers), run, {
        ...options,
        ...(coreRoute && { coreRoute }),
      });
    }),
  addStyles,
);
