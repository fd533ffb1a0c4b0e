/** JupyterLab's own packages, out of the share scope in which its page offers them. */
import type { Packages } from "./jupyterlab";

type Factory = () => unknown;

/** One version of a package, as webpack and rspack both write it. */
interface Offer {
  get(): Factory | Promise<Factory>;
  /** Whether somebody has it already. */
  loaded?: boolean | number;
}

export type ShareScope = Record<string, Record<string, Offer> | undefined>;

/**
 * Take a package.
 *
 * Tokens and classes only work when they are the page's own: of several versions we take the one that
 * it takes, which is the one that is loaded, else the newest.
 */
export async function take<Name extends keyof Packages>(
  scope: ShareScope,
  name: Name,
): Promise<Packages[Name]> {
  const offers = Object.entries(scope[name] ?? {});
  const [, offer] = offers.sort(([a, one], [b, other]) => {
    return Number(!!other.loaded) - Number(!!one.loaded) || newerFirst(a, b);
  })[0] ?? [null, null];
  if (!offer) throw new Error(`agentstepper_nb: this page has no ${name} to share.`);
  const factory = await offer.get();
  return factory() as Packages[Name];
}

/** A release goes before the candidates for it. */
function newerFirst(a: string, b: string): number {
  const [one = "", onesNote] = a.split("-", 2);
  const [other = "", othersNote] = b.split("-", 2);
  const byNumber = other.localeCompare(one, "en", { numeric: true });
  return byNumber || Number(onesNote !== undefined) - Number(othersNote !== undefined);
}
