/**
 * The anywidget's `_esm` where the Core is in the kernel: the whole view in one file, since there may be
 * no server to fetch it from. It assumes nothing of the page: VS Code and Colab have no JupyterLab around.
 */
import { commTransport } from "../client/comm";
import { mount } from "../mount";
import { addStyles } from "../styles";
import { dress, onPageChange } from "./theme";
import { mountWidget, widgetShell } from "./widget";

export default widgetShell(
  (model, host, timers) => {
    dress(host);
    const leave = mountWidget(model, (run, options) => {
      const via = model.get("via");
      return mount(host, commTransport(model, timers), run, { ...options, ...(via && { via }) });
    });
    const forget = onPageChange(() => dress(host));
    return () => {
      forget();
      leave();
    };
  },
  // Drawn before it stands anywhere: what is behind it, and in which root, is known only now.
  (host) => {
    dress(host);
    addStyles(host);
  },
);
