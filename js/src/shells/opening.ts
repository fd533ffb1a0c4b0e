/** Opening a session's run in the debugger: beside the notebook where that can be, else on its page. */

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
