/** Whether a pane has room for two columns. */
import type { RefObject } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Sides } from "./table";

/** Side by side is worth it from here on, in pixels: about 30 characters of code a side. */
const ROOM = 460;

export function useSides(element: RefObject<HTMLElement | null>): Sides {
  const [sides, setSides] = useState<Sides>("split");
  useEffect(() => {
    if (!element.current || typeof ResizeObserver === "undefined") return;
    const observer = new ResizeObserver(([entry]) => {
      if (entry) setSides(entry.contentRect.width < ROOM ? "unified" : "split");
    });
    observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  return sides;
}
