/** The network or the person is back: no need to sit out the wait. */
import type { ReadonlySignal } from "@preact/signals";
import type { Connection } from "../model/model";

interface Kept {
  readonly connection: ReadonlySignal<Connection>;
  retry(): void;
}

/** Try again at once where a link is lost meanwhile; gives back how to stop. */
export function retryWhenBack(line: Kept): () => void {
  const retry = () => {
    if (line.connection.peek().kind === "lost" && !document.hidden) line.retry();
  };
  window.addEventListener("online", retry);
  document.addEventListener("visibilitychange", retry);
  return () => {
    window.removeEventListener("online", retry);
    document.removeEventListener("visibilitychange", retry);
  };
}
