/** What many parts need: class names, identifiers, and where a view stands. */

import type { Signal } from "@preact/signals";
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

/** Call back when the person presses or goes elsewhere. */
export function useOutsidePress(
  box: { current: HTMLElement | null },
  on: boolean,
  leave: () => void,
): void {
  useEffect(() => {
    if (!on) return;
    const check = (event: Event) => {
      if (event.target instanceof Node && !box.current?.contains(event.target)) leave();
    };
    document.addEventListener("pointerdown", check, true);
    document.addEventListener("focusin", check, true);
    return () => {
      document.removeEventListener("pointerdown", check, true);
      document.removeEventListener("focusin", check, true);
    };
  }, [on]);
}

/** Join class names, leaving out what is not set. */
export function cx(...names: (string | false | null | undefined)[]): string {
  return names.filter(Boolean).join(" ");
}

// ---- What the shell gives the view, and what is open in it for a moment.

/** A way to the Core, and why it is taken: for a person. */
export interface CoreRoute {
  /** A word or two: "through the kernel". */
  name: string;
  /** One or two sentences. */
  why: string;
}

export interface ViewPlacement {
  /** The shell's name: sizes are kept for each. */
  shell: "inline" | "panel" | "page";
  /** The view's address on a page of its own; absent where it is on it, or none is served. */
  pageUrl?: () => string;
  /** How the view reaches the Core, where that isn't straight. */
  coreRoute?: CoreRoute;
  /** Who draws the height: the person by the lower edge, or the shell. */
  resizable: boolean;
  /** The height to begin with, in pixels. */
  height?: number;
  /** What lies over the view. */
  readonly overlay: Signal<"keys" | "runs" | "seams" | "steps" | null>;
}
