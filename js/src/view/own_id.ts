import { useState } from "preact/hooks";

/**
 * An id that nothing else on the page has. Preact's own are counted in each tree, and a page may hold
 * several views, each drawn by a script of its own.
 */
export function useOwnId(): string {
  const [id] = useState(() => `as-${crypto.getRandomValues(new Uint32Array(2)).join("-")}`);
  return id;
}
