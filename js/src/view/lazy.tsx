/** Parts of the view that are fetched when they are first needed. */
import type { ComponentType, JSX, VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { putStyle } from "../styles";
import { Button } from "./button";

/**
 * A component that is in another chunk.
 *
 * @param load Imports it; called when it is first drawn, and again where that failed.
 * @param waiting What stands in its place until it is here, so that nothing moves when it comes.
 */
export function lazy<P extends object>(
  load: () => Promise<ComponentType<P>>,
  waiting: VNode | null = null,
): (props: P) => JSX.Element | null {
  let loaded: ComponentType<P> | null = null;
  return function Lazy(props: P) {
    const [Part, setPart] = useState(() => loaded);
    const [failed, setFailed] = useState(false);
    const [tries, setTries] = useState(0);
    useEffect(() => {
      if (loaded) return setPart(() => loaded);
      let wanted = true;
      load().then(
        (found) => {
          loaded = found;
          if (wanted) setPart(() => found);
        },
        () => wanted && setFailed(true),
      );
      return () => {
        wanted = false;
      };
    }, [tries]);
    if (Part) return <Part {...props} />;
    if (!failed) return waiting;
    const again = () => {
      setFailed(false);
      setTries(tries + 1);
    };
    return <Missing onAgain={again} />;
  };
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
    <div class="as-Empty">
      <h3>This part of the view could not be loaded</h3>
      <p>The server did not send it, or was upgraded meanwhile: then reload the page.</p>
      <div class="as-Empty-actions">
        <Button outline hint="Ask for it again" onClick={onAgain}>
          Try again
        </Button>
      </div>
    </div>
  );
}
