/**
 * Which keys are JupyterLab's while the focus is in a view. Keys that write or move stay out of its
 * hands: `x` would cut the cell. Its chords go on working: Ctrl+S saves the notebook.
 */

import { useEffect } from "preact/hooks";

const MARK = "data-lm-suppress-shortcuts";

/** Chords that write nothing, so that they are JupyterLab's in text fields too: save, side bar, palette. */
const EVERYWHERE = new Set(["s", "b", "shift+c"]);

/** Let JupyterLab have its keys, and no others, while the focus is in a view. */
export function useSharedKeys(root: { current: HTMLElement | null }): void {
  useEffect(() => (root.current ? shareKeys(root.current) : undefined), []);
}

function shareKeys(root: HTMLElement): () => void {
  // On the window: before JupyterLab, which listens at the document, looks for its mark.
  const onKeyDown = (event: KeyboardEvent) => {
    const { target } = event;
    if (!(target instanceof Element) || !root.contains(target)) return;
    const keep = !isJupyters(event, isTextField(target));
    // On all from the focus up: its selectors match the focused element first.
    for (let each: Element | null = target; each; each = each.parentElement) {
      each.toggleAttribute(MARK, keep);
      if (each === root) break;
    }
  };
  window.addEventListener("keydown", onKeyDown, { capture: true });
  return () => window.removeEventListener("keydown", onKeyDown, { capture: true });
}

function isJupyters({ key, ctrlKey, metaKey, shiftKey }: KeyboardEvent, inField: boolean): boolean {
  if (!ctrlKey && !metaKey) return key === "Enter" && shiftKey && !inField;
  const chord = `${shiftKey ? "shift+" : ""}${key.toLowerCase()}`;
  return inField ? EVERYWHERE.has(chord) : chord !== "f"; // which finds in the run
}

/** Whether keys write where the focus is. */
export function isTextField(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.matches("input, textarea, select") || target.isContentEditable;
}
