/** What a message needs from the kernel, asked for once somebody looks at the message. */
import { useEffect, useRef, useState } from "preact/hooks";

export type Fetched<T> =
  | { readonly kind: "waiting" }
  | { readonly kind: "here"; readonly value: T }
  | { readonly kind: "failed"; readonly why: string };

/** Looked for this far outside of what is in sight. */
const AHEAD = "400px";

/**
 * For the element that shows it: `ref`. A failure can be tried again.
 *
 * @param of What it belongs to: of another message another one is fetched.
 */
export function useFetched<T>(of: string, load: () => Promise<T>) {
  const ref = useRef<HTMLDivElement>(null);
  const [tries, setTries] = useState(0);
  const [fetched, setFetched] = useState<Fetched<T>>({ kind: "waiting" });
  useEffect(() => {
    let wanted = true;
    setFetched({ kind: "waiting" });
    const fetch = async () => {
      try {
        const value = await load();
        if (wanted) setFetched({ kind: "here", value });
      } catch (error) {
        if (wanted) setFetched({ kind: "failed", why: (error as Error).message });
      }
    };
    const leave = onceSeen(ref.current, () => void fetch());
    return () => {
      wanted = false;
      leave();
    };
  }, [of, tries]);
  return { ref, fetched, retry: () => setTries(tries + 1) };
}

function onceSeen(element: Element | null, seen: () => void): () => void {
  if (!element) return () => {};
  const observer = new IntersectionObserver(
    (entries) => {
      if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
      observer.disconnect();
      seen();
    },
    { rootMargin: AHEAD },
  );
  observer.observe(element);
  return () => observer.disconnect();
}
