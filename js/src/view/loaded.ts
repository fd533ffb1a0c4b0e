/** What is fetched for a part of the view, and asked for again where that failed. */
import { useEffect, useState } from "preact/hooks";
import type { Model } from "../model/model";

export type Loading<T> =
  | { readonly kind: "loading" }
  | { readonly kind: "ready"; readonly value: T }
  | { readonly kind: "failed"; readonly message: string; again(): void };

interface Wanted {
  /** With another one it is asked for again; what is here stays meanwhile. */
  version?: unknown;
  /** Whether it is to be fetched at all. */
  wanted?: boolean;
  /** Whether what is here is good for as long as it is shown. */
  once?: boolean;
}

/**
 * What a key stands for; asked for again when the link is back, or the person says so.
 *
 * @param key What it is of: what another key stands for isn't shown.
 */
export function useLoaded<T>(
  model: Pick<Model, "connection">,
  key: string,
  load: () => Promise<T>,
  { version, wanted = true, once = false }: Wanted = {},
): Loading<T> {
  const [found, setFound] = useState<{ key: string; state: Loading<T> } | null>(null);
  const [tries, setTries] = useState(0);
  const open = model.connection.value.kind === "open";
  const settled = once && found?.key === key && found.state.kind === "ready";
  useEffect(() => {
    if (!wanted || settled) return;
    let awaited = true;
    const take = (state: Loading<T>) => awaited && setFound({ key, state });
    load().then(
      (value) => take({ kind: "ready", value }),
      (error: unknown) => {
        const message = error instanceof Error ? error.message : String(error);
        take({ kind: "failed", message, again: () => setTries(tries + 1) });
      },
    );
    return () => {
      awaited = false;
    };
  }, [model, key, version, wanted, tries, open]);
  return found?.key === key ? found.state : { kind: "loading" };
}
