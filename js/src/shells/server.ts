/** The app as a Jupyter server has it: found by its manifest, bound to that server, or what to do instead. */
import type { Mounted, MountOptions } from "../mount";
import { VERSION as PROTOCOL } from "../protocol/messages";
import { Advice } from "./advice";

declare const VERSION: string;

/** What JupyterLab, Notebook and the Hub say about themselves in their pages. */
export interface PageConfig {
  baseUrl?: string;
  token?: string;
}

/** The shell that asks, as it is named where the server's version isn't its own. */
export interface Asker {
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
export async function loadApp(base: URL, config: PageConfig | null, asker: Asker): Promise<App> {
  const files = new URL("static/agentstepper/", base);
  const { app } = await manifest(files, asker);
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

async function manifest(files: URL, asker: Asker): Promise<Manifest> {
  const answer = await fetch(new URL("manifest.json", files), { cache: "no-cache" }).catch(
    () => null,
  );
  if (!answer) throw new Advice("The Jupyter server does not answer.");
  if (!answer.ok) {
    throw new Advice(
      "The Jupyter server has no agentstepper_nb. Run `%agentstepper --kernel` in the notebook to " +
        "debug without it; or install it in the environment that the server runs in " +
        "(pip install agentstepper_nb), then restart the server.",
    );
  }
  const found = (await answer.json()) as Manifest;
  if (found.protocol !== PROTOCOL) throw new Advice(skew(found, asker));
  return found;
}

/** Versions may differ as long as the protocol is the same. */
function skew({ version, protocol }: Manifest, { name, upgrade }: Asker): string {
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
    throw new Advice("The view could not be loaded from the Jupyter server. Reload the page.");
  });
}
