/**
 * The anywidget's `_esm`: a few KB that travel with each widget, and fetch the app from the Jupyter
 * server. The app then talks to the Core of that server by itself: the kernel may be blocked.
 */
import { VERSION as PROTOCOL } from "../protocol/messages";

declare const VERSION: string;

/** What anywidget hands to `render`, as far as it is used. */
interface Widget {
  get(name: "run" | "base_url"): string;
  get(name: "height"): number;
  get(name: "follow"): boolean;
  on(event: string, callback: () => void): void;
  off(event: string, callback: () => void): void;
}

/** Written by the build beside the app. */
interface Manifest {
  version: string;
  protocol: number;
  app: string;
}

interface PageConfig {
  baseUrl?: string;
  token?: string;
}

const USUAL_HEIGHT = 520;

/** Something that the person has to mend; said in the widget's place. */
class Advice extends Error {}

function render({ model, el }: { model: Widget; el: HTMLElement }): () => void {
  let leave: (() => void) | undefined;
  let gone = false;
  const begin = () => {
    show(model, el).then(
      (cleanup) => {
        if (gone) cleanup();
        else leave = cleanup;
      },
      (error: Error) => advise(el, error, begin),
    );
  };
  begin();
  return () => {
    gone = true;
    leave?.();
  };
}

export default { render };

async function show(model: Widget, el: HTMLElement): Promise<() => void> {
  const config = pageConfig();
  const given = model.get("base_url") || config?.baseUrl;
  if (!given) {
    throw new Advice(
      "This front end doesn’t say where its Jupyter server is. Open the notebook in JupyterLab or " +
        "Jupyter Notebook, or run `agentstepper step` in a terminal.",
    );
  }
  const base = new URL(given, location.href);
  const files = new URL("static/agentstepper/", base);
  const { app } = await manifest(files);
  const { mount, serverTransport } = await importApp(new URL(app, files));
  el.replaceChildren();
  const height = model.get("height");
  const mounted = mount(el, serverTransport(base, config?.token), model.get("run"), {
    pageUrl: (run: string) =>
      String(new URL(`agentstepper/app?run=${encodeURIComponent(run)}`, base)),
    goOn: model.get("follow"),
    ...(height !== USUAL_HEIGHT && { height }),
  });
  const onRun = () => mounted.show(model.get("run"));
  model.on("change:run", onRun);
  return () => {
    model.off("change:run", onRun);
    mounted();
  };
}

/** JupyterLab, Notebook and the Hub all put this in their pages. */
function pageConfig(): PageConfig | null {
  const text = document.getElementById("jupyter-config-data")?.textContent;
  return text ? (JSON.parse(text) as PageConfig) : null;
}

async function manifest(files: URL): Promise<Manifest> {
  const answer = await fetch(new URL("manifest.json", files), { cache: "no-cache" }).catch(
    () => null,
  );
  if (!answer) throw new Advice("The Jupyter server does not answer.");
  if (!answer.ok) {
    throw new Advice(
      "The Jupyter server has no agentstepper_nb. Install it in the environment that the server " +
        "runs in (pip install agentstepper_nb), then restart the server.",
    );
  }
  const found = (await answer.json()) as Manifest;
  if (found.protocol !== PROTOCOL) throw new Advice(skew(found));
  return found;
}

/** Versions may differ as long as the protocol is the same. */
function skew({ version, protocol }: Manifest): string {
  const old =
    protocol < PROTOCOL ? "where the Jupyter server runs, and restart it" : "in the kernel";
  return (
    `The kernel has agentstepper_nb ${VERSION} (protocol ${PROTOCOL}), the Jupyter server ${version} ` +
    `(protocol ${protocol}). Upgrade agentstepper_nb ${old}.`
  );
}

function importApp(url: URL): Promise<typeof import("../app")> {
  return import(String(url)).catch(() => {
    throw new Advice("The view could not be loaded from the Jupyter server. Reload the page.");
  });
}

function advise(el: HTMLElement, error: Error, again: () => void): void {
  const text = document.createElement("span");
  text.textContent = error instanceof Advice ? error.message : `The view failed: ${error.message}`;
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Try again";
  button.onclick = again;
  const box = document.createElement("div");
  box.setAttribute("role", "alert");
  box.append(text, button);
  style(box, BOX);
  style(button, BUTTON);
  el.replaceChildren(box);
}

const BOX = {
  display: "flex",
  alignItems: "center",
  justifyContent: "space-between",
  gap: "12px",
  padding: "10px 12px",
  border: "1px solid var(--jp-border-color2, #e0e0e0)",
  borderLeft: "4px solid var(--jp-error-color1, #d32f2f)",
  borderRadius: "3px",
  background: "var(--jp-layout-color1, #fff)",
  color: "var(--jp-ui-font-color1, rgba(0,0,0,.87))",
  font: "13px/19px var(--jp-ui-font-family, system-ui, sans-serif)",
};
const BUTTON = {
  flex: "none",
  height: "26px",
  padding: "0 9px",
  border: "1px solid var(--jp-border-color1, #bdbdbd)",
  borderRadius: "3px",
  background: "transparent",
  color: "inherit",
  font: "inherit",
  cursor: "pointer",
};

function style(element: HTMLElement, rules: Partial<CSSStyleDeclaration>): void {
  Object.assign(element.style, rules);
}
