/** Hooks that several parts of the view use. */
import { useEffect, useState } from "preact/hooks";

/** The time in seconds; it goes on by itself while `ticking`. */
export function useNow(ticking: boolean): number {
  const [now, setNow] = useState(() => Date.now() / 1000);
  useEffect(() => {
    if (!ticking) return;
    const timer = setInterval(() => setNow(Date.now() / 1000), 1000);
    return () => clearInterval(timer);
  }, [ticking]);
  return now;
}

/**
 * An id that nothing else on the page has. Preact's own are counted in each tree, and a page may hold
 * several views, each drawn by a script of its own.
 */
export function useOwnId(): string {
  const [id] = useState(() => `as-${crypto.getRandomValues(new Uint32Array(2)).join("-")}`);
  return id;
}
