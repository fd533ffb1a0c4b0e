/** What the shell gives the view, and what is open in it for a moment. */
import type { Signal } from "@preact/signals";

/** A way to the Core, and why it is taken: for a person. */
export interface Via {
  /** A word or two: "through the kernel". */
  name: string;
  /** One or two sentences. */
  why: string;
}

export interface Place {
  /** The shell's name: sizes are kept for each. */
  shell: "inline" | "panel" | "page";
  /** The view's address on a page of its own; absent where it is on it, or none is served. */
  pageUrl?: () => string;
  /** How the view reaches the Core, where that isn't straight. */
  via?: Via;
  /** Who draws the height: the person by the lower edge, or the shell. */
  resizable: boolean;
  /** The height to begin with, in pixels. */
  height?: number;
  /** What lies over the view. */
  readonly overlay: Signal<"keys" | "runs" | null>;
}
