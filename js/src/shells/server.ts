/** The app as a Jupyter server has it, what to do where it has none, and the page of a run. */
import type { Mounted, MountOptions } from "../mount";
import { VERSION as PROTOCOL } from "../protocol/messages";

declare const VERSION: string;

/** What JupyterLab, Notebook and the Hub say about themselves in their pages. */
export interface PageConfig {
  baseUrl?: string;
  token?: string;
  /** The folder that the server shows, where our extension runs in it. */
  agentstepperRoot?: string;
}

/** The shell that asks, as it is named where the server's version isn't its own. */
export interface RequestingShell {
  /** "The kernel" */
  name: string;
  /** What to do where the server is the newer one: "Upgrade agentstepper_nb in the kernel." */
  upgrade: string;
}

/** The app of one server: its views talk to that server's Core. */
export interface App {
  mount(element: HTMLElement, run: string, options?: MountOptions): Mounted;
}

/** Written by the build beside the app. */
interface Manifest {
  version: string;
  protocol: number;
  app: string;
}

export function pageConfig(): PageConfig | null {
  const text = document.getElementById("jupyter-config-data")?.textContent;
  return text ? (JSON.parse(text) as PageConfig) : null;
}

/**
 * Load the app from a Jupyter server.
 *
 * @param base The server's base URL, ending with a slash.
 * @param config The page's, for the token that is tried where the login cookie isn't taken.
 * @throws Advice where the server has no app, or one of another protocol.
 */
export async function loadApp(
  base: URL,
  config: PageConfig | null,
  shell: RequestingShell,
): Promise<App> {
  const files = new URL("static/agentstepper/", base);
  const { app } = await manifest(files, shell);
  const { mount, serverTransport } = await importApp(new URL(app, files));
  const own = { pageUrl: (run: string) => pageUrl(base, run) };
  return {
    mount: (element, run, options) =>
      mount(element, serverTransport(base, config?.token), run, { ...own, ...options }),
  };
}

/** The address of the view's own page. */
export function pageUrl(base: URL, run: string): string {
  return String(new URL(`agentstepper/app?run=${encodeURIComponent(run)}`, base));
}

async function manifest(files: URL, shell: RequestingShell): Promise<Manifest> {
  const answer = await fetch(new URL("manifest.json", files), { cache: "no-cache" }).catch(
    () => null,
  );
  if (!answer) throw new UserFixableError("The Jupyter server does not answer.");
  if (!answer.ok) {
    throw new UserFixableError(
      "The Jupyter server has no agentstepper_nb. Run `%agentstepper --kernel` in the notebook to " +
        "debug without it; or install it in the environment that the server runs in " +
        "(pip install agentstepper_nb), then restart the server.",
    );
  }
  const found = (await answer.json()) as Manifest;
  if (found.protocol !== PROTOCOL) throw new UserFixableError(skew(found, shell));
  return found;
}

/** Versions may differ as long as the protocol is the same. */
function skew({ version, protocol }: Manifest, { name, upgrade }: RequestingShell): string {
  const mend =
    protocol < PROTOCOL
      ? "Upgrade agentstepper_nb where the Jupyter server runs, and restart it."
      : upgrade;
  return (
    `${name} has agentstepper_nb ${VERSION} (protocol ${PROTOCOL}), the Jupyter server ${version} ` +
    `(protocol ${protocol}). ${mend}`
  );
}

function importApp(url: URL): Promise<typeof import("../app")> {
  return import(String(url)).catch(() => {
    throw new UserFixableError(
      "The view could not be loaded from the Jupyter server. Reload the page.",
    );
  });
}

// ---- What stands in the view's place where it can't be shown, and a button to try again.

/** Something that the person has to mend. */
export class UserFixableError extends Error {}

/**
 * Say in an element what went wrong.
 *
 * @param again Called when the person asks to try again.
 */
export function showLoadError(element: HTMLElement, error: Error, again: () => void): void {
  const text = document.createElement("span");
  text.textContent =
    error instanceof UserFixableError ? error.message : `The view failed: ${error.message}`;
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Try again";
  button.onclick = again;
  const box = document.createElement("div");
  box.setAttribute("role", "alert");
  box.append(text, button);
  style(box, BOX);
  style(button, BUTTON);
  element.replaceChildren(box);
}

// The app's stylesheet isn't there yet: these are drawn without it.
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

// ---- Opening a session's run in the debugger: beside the notebook where that can be, else on its page.

/** Asked of the page: JupyterLab's extension of ours takes it, and says so by `preventDefault`. */
const OPEN_RUN = "agentstepper:open-run";

/** Take each run that is asked to be opened on this page, until the returned function is called. */
export function onOpenRun(open: (run: string) => void): () => void {
  const take = (event: Event) => {
    const { run } = (event as CustomEvent<{ run: string }>).detail;
    event.preventDefault();
    open(run);
  };
  document.addEventListener(OPEN_RUN, take);
  return () => document.removeEventListener(OPEN_RUN, take);
}

/** How a session's run is reached. */
export interface RunAccess {
  /** The address of a run on the debugger's own page; absent where the browser can't reach the Core. */
  readonly pageUrl?: (run: string) => string;
  /** What to type in a terminal, where it can't. */
  readonly command?: (run: string) => string;
}

/** Open a run; what to type instead, where there is no other way. */
export function openRun(run: string, { pageUrl, command }: RunAccess): string | null {
  if (pageUrl === undefined) return command?.(run) ?? null;
  const asked = new CustomEvent(OPEN_RUN, { detail: { run }, cancelable: true });
  if (document.dispatchEvent(asked)) window.open(pageUrl(run), "_blank", "noopener");
  return null;
}

// ---- How a widget's view reaches the runs of its Core.

/** What a widget's kernel says of its Core. */
export interface CoreAccessInfo {
  /** Whether the page's own server has it. */
  get(name: "direct"): boolean;
  /** The base URL of the server that shows its runs; empty where none does. */
  get(name: "page"): string;
}

/** The base URL of the page's own server, where that has the Core. */
export function ownServer(model: CoreAccessInfo): URL | null {
  const config = pageConfig();
  return model.get("direct") && config?.baseUrl ? new URL(config.baseUrl, location.href) : null;
}

/** @param command What to type where no page shows the Core's runs. */
export function accessOf(model: CoreAccessInfo, command: (run: string) => string): RunAccess {
  const own = ownServer(model);
  if (own) return { pageUrl: (run) => pageUrl(own, run) };
  const page = model.get("page");
  return page ? { pageUrl: (run) => pageUrl(new URL(page), run) } : { command };
}
