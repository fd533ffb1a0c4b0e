/** Opening a session's run in the debugger: beside the notebook where that can be, else on its page. */
import { pageConfig, pageUrl } from "./server";

/** Asked of the page: JupyterLab's extension of ours takes it, and says so by `preventDefault`. */
const OPEN_RUN = "agentstepper:open-run";

/** Take each run that is asked to be opened on this page; for as long as the page lives. */
export function onOpenRun(open: (run: string) => void): void {
  document.addEventListener(OPEN_RUN, (event) => {
    const { run } = (event as CustomEvent<{ run: string }>).detail;
    event.preventDefault();
    open(run);
  });
}

/** How a session's run is reached. */
export interface Reach {
  /** The address of a run on the debugger's own page; absent where the browser can't reach the Core. */
  readonly pageUrl?: (run: string) => string;
  /** What to type in a terminal, where it can't. */
  readonly command?: (run: string) => string;
}

/** Open a run; what to type instead, where there is no other way. */
export function openRun(run: string, { pageUrl, command }: Reach): string | null {
  if (pageUrl === undefined) return command?.(run) ?? null;
  const asked = new CustomEvent(OPEN_RUN, { detail: { run }, cancelable: true });
  if (document.dispatchEvent(asked)) window.open(pageUrl(run), "_blank", "noopener");
  return null;
}

// ---- How a widget's view reaches the runs of its Core.

/** What a widget's kernel says of its Core. */
export interface CoreTraits {
  /** Whether the page's own server has it. */
  get(name: "direct"): boolean;
  /** The base URL of the server that shows its runs; empty where none does. */
  get(name: "page"): string;
}

/** The base URL of the page's own server, where that has the Core. */
export function ownServer(model: CoreTraits): URL | null {
  const config = pageConfig();
  return model.get("direct") && config?.baseUrl ? new URL(config.baseUrl, location.href) : null;
}

/** @param command What to type where no page shows the Core's runs. */
export function reachOf(model: CoreTraits, command: (run: string) => string): Reach {
  const own = ownServer(model);
  if (own) return { pageUrl: (run) => pageUrl(own, run) };
  const page = model.get("page");
  return page ? { pageUrl: (run) => pageUrl(new URL(page), run) } : { command };
}
