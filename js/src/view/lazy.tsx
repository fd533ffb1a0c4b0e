/** Parts of the view that are fetched when they are first needed. */

import type { ComponentChildren, ComponentType, JSX, VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { putStyle } from "../styles";
import { NotFetched } from "./told";

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
  let asked: Promise<void> | null = null;
  const fetch = () => {
    asked ??= load().then(
      (found) => {
        loaded = found;
      },
      (error: unknown) => {
        asked = null;
        throw error;
      },
    );
    return asked;
  };
  function Lazy(props: P) {
    const [state, setState] = useState<"waiting" | "here" | "failed">("waiting");
    const [tries, setTries] = useState(0);
    const here = loaded !== null;
    useEffect(() => {
      if (here) return;
      let wanted = true;
      const take = (found: "here" | "failed") => wanted && setState(found);
      fetch().then(
        () => take("here"),
        () => take("failed"),
      );
      return () => {
        wanted = false;
      };
    }, [tries, here]);
    if (loaded) {
      const Part = loaded;
      return <Part {...props} />;
    }
    const again = () => {
      setState("waiting");
      setTries(tries + 1);
    };
    return <Frame {...props}>{state === "failed" ? <Missing onAgain={again} /> : waiting}</Frame>;
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
  const put = (place: Element | null) => {
    if (place) putStyle(place, name, styles);
  };
  return (props: P) => (
    <>
      <span hidden ref={put} />
      <Part {...props} />
    </>
  );
}

function Missing({ onAgain }: { onAgain(): void }) {
  return (
    <NotFetched
      title="This part of the view could not be loaded"
      why="The server did not send it, or was upgraded meanwhile: then reload the page."
      hint="Ask for it again"
      onAgain={onAgain}
    />
  );
}
