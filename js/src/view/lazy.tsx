/** What is fetched when it is first needed: parts of the view, and what they show. */
import type { ComponentChildren, ComponentType, JSX, VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Model } from "../model/model";
import { putStyle } from "../styles";
import { NotFetched } from "./notices";

/** A component that is in another chunk. */
export interface Lazy<P> {
  (props: P): JSX.Element | null;
  /** Begin to fetch the chunk before it is drawn; a failure shows once it is. */
  fetch(): void;
}

/**
 * Name a component that is in another chunk.
 *
 * @param load Imports it; called when it is first drawn, and again where that failed.
 * @param waiting What stands in its place until it is here, so that nothing moves when it comes.
 * @param Frame Stands around whatever stands in its place.
 */
export function lazy<P extends object>(
  load: () => Promise<ComponentType<P>>,
  waiting: VNode | null = null,
  Frame: ComponentType<P & { children: ComponentChildren }> = Bare,
): Lazy<P> {
  let loaded: ComponentType<P> | null = null;
  let pending: Promise<void> | null = null;
  const fetch = () => {
    pending ??= load().then(
      (found) => {
        loaded = found;
      },
      (error: unknown) => {
        pending = null;
        throw error;
      },
    );
    return pending;
  };
  function Lazy(props: P) {
    const [state, setState] = useState<"waiting" | "here" | "failed">("waiting");
    const [attempts, setAttempts] = useState(0);
    const here = loaded !== null;
    useEffect(() => {
      if (here) return;
      let isCurrent = true;
      const take = (found: "here" | "failed") => isCurrent && setState(found);
      fetch().then(
        () => take("here"),
        () => take("failed"),
      );
      return () => {
        isCurrent = false;
      };
    }, [attempts, here]);
    if (loaded) {
      const Part = loaded;
      return <Part {...props} />;
    }
    const retry = () => {
      setState("waiting");
      setAttempts(attempts + 1);
    };
    return (
      <Frame {...props}>{state === "failed" ? <LoadFailed onRetry={retry} /> : waiting}</Frame>
    );
  }
  return Object.assign(Lazy, { fetch: () => void fetch().catch(() => undefined) });
}

function Bare({ children }: { children: ComponentChildren }) {
  return <>{children}</>;
}

/**
 * A part with a stylesheet of its own, which travels in its chunk. It is put beside the view's, not into
 * the view: what runs say stands there, and nothing else may.
 *
 * @param name The stylesheet's.
 */
export function withStyles<P extends object>(
  Part: ComponentType<P>,
  name: string,
  styles: string,
): ComponentType<P> {
  // References are set before anything is measured.
  const addStyle = (place: Element | null) => {
    if (place) putStyle(place, name, styles);
  };
  return (props: P) => (
    <>
      <span hidden ref={addStyle} />
      <Part {...props} />
    </>
  );
}

function LoadFailed({ onRetry }: { onRetry(): void }) {
  return (
    <NotFetched
      title="This part of the view could not be loaded"
      why="The server did not send it. Try again, or reload the page if the server was upgraded."
      hint="Load this part again"
      onRetry={onRetry}
    />
  );
}

// ---- What is fetched for a part of the view, and asked for again where that failed.

export type LoadState<T> =
  | { readonly kind: "loading" }
  | { readonly kind: "ready"; readonly value: T }
  | { readonly kind: "failed"; readonly message: string; retry(): void };

interface LoadOptions {
  /** With another one it is asked for again; what is here stays meanwhile. */
  version?: unknown;
  /** Whether it is to be fetched at all. */
  enabled?: boolean;
  /** Whether what is here is good for as long as it is shown. */
  once?: boolean;
}

/**
 * What a key stands for; asked for again when the link is back, or the person says so. What is here stays
 * while the link is away.
 *
 * @param key What it is of: what another key stands for isn't shown.
 */
export function useLoaded<T>(
  model: Pick<Model, "connection">,
  key: string,
  load: () => Promise<T>,
  { version, enabled = true, once = false }: LoadOptions = {},
): LoadState<T> {
  const [found, setFound] = useState<(LoadState<T> & { key: string }) | null>(null);
  const [attempts, setAttempts] = useState(0);
  const open = model.connection.value.kind === "open";
  const current: LoadState<T> = found?.key === key ? found : { kind: "loading" };
  const isReady = current.kind === "ready";
  useEffect(() => {
    if (!enabled || (once && isReady)) return;
    let isAwaited = true;
    load().then(
      (value) => isAwaited && setFound({ key, kind: "ready", value }),
      (error: unknown) => {
        if (!isAwaited || (isReady && model.connection.peek().kind !== "open")) return;
        const message = error instanceof Error ? error.message : String(error);
        setFound({ key, kind: "failed", message, retry: () => setAttempts(attempts + 1) });
      },
    );
    return () => {
      isAwaited = false;
    };
  }, [model, key, version, enabled, attempts, open]);
  return current;
}
