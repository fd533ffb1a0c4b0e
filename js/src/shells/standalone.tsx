/** Views that stand alone: how they are drawn into an element, and keep their link. */
import { type ReadonlySignal, signal } from "@preact/signals";
import { render as draw, type VNode } from "preact";
import type { Connection } from "../model/model";
import type { ViewPlacement } from "../view/hooks";

interface Reconnectable {
  readonly connection: ReadonlySignal<Connection>;
  retry(): void;
}

/**
 * The network or the person is back: no need to sit out the wait. Try again at once where a link is lost
 * meanwhile; gives back how to stop.
 */
export function retryWhenOnline(client: Reconnectable): () => void {
  const retry = () => {
    if (client.connection.peek().kind === "lost" && !document.hidden) client.retry();
  };
  window.addEventListener("online", retry);
  document.addEventListener("visibilitychange", retry);
  return () => {
    window.removeEventListener("online", retry);
    document.removeEventListener("visibilitychange", retry);
  };
}

/** What is shown: it is drawn, then its line is begun. */
interface StandaloneModel {
  readonly client: Reconnectable;
  start(): void;
  close(): void;
}

/**
 * Draw a view that a person may make higher or lower.
 *
 * @param height The height to begin with, in pixels.
 * @returns Ends it.
 */
export function mountStandalone(
  element: HTMLElement,
  model: StandaloneModel,
  height: number | undefined,
  root: (place: ViewPlacement) => VNode,
): () => void {
  const place: ViewPlacement = {
    shell: "inline",
    resizable: true,
    overlay: signal(null),
    ...(height !== undefined && { height }),
  };
  draw(root(place), element);
  const leave = retryWhenOnline(model.client);
  model.start();
  return () => {
    leave();
    model.close();
    draw(null, element);
  };
}
