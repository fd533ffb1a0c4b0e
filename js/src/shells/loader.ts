/**
 * The anywidget's `_esm`: a few KB that travel with each widget, and fetch the app from the Jupyter
 * server. The app then talks to the Core of that server by itself: the kernel may be blocked.
 */
import {
  loadApp,
  pageConfig,
  type RequestingShell,
  showLoadError,
  UserFixableError,
} from "./server";
import { mountWidget, type Widget, widgetShell } from "./widget";

const KERNEL: RequestingShell = {
  name: "The kernel",
  upgrade: "Upgrade agentstepper_nb in the kernel.",
};

export default widgetShell((model, host) => {
  let leave: (() => void) | undefined;
  let gone = false;
  const begin = () => {
    show(model, host).then(
      (cleanup) => {
        if (gone) cleanup();
        else leave = cleanup;
      },
      (error: Error) => showLoadError(host, error, begin),
    );
  };
  begin();
  return () => {
    gone = true;
    leave?.();
  };
});

async function show(model: Widget, host: HTMLElement): Promise<() => void> {
  const config = pageConfig();
  const given = model.get("base_url") || config?.baseUrl;
  if (!given) {
    throw new UserFixableError(
      "This front end doesn’t say where its Jupyter server is. Run `%agentstepper --kernel`: the view " +
        "then comes through the kernel.",
    );
  }
  const app = await loadApp(new URL(given, location.href), config, KERNEL);
  host.replaceChildren();
  return mountWidget(model, (run, options) => app.mount(host, run, options));
}
