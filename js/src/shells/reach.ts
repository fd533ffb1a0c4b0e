/** How a widget's view reaches the runs of its Core. */
import type { Reach } from "./opening";
import { pageConfig, pageUrl } from "./server";

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
