/**
 * The focus stays in the view when what had it goes: a notice that is dismissed, a tab that is hidden.
 * A browser would give it to the page, and the next key would be JupyterLab's.
 */
import { useEffect } from "preact/hooks";

/** Where it may go, the best first. */
const HEIRS = [
  '.as-Row[tabindex="0"]',
  '.as-Pair[tabindex="0"]',
  '.as-StopRow[tabindex="0"]',
  '.as-RunRow[tabindex="0"]',
  '.as-Hit[tabindex="0"]',
  '.as-Tab[aria-selected="true"]',
  ".as-View",
];

export function useKeepFocus(root: { current: HTMLElement | null }, heirs = HEIRS): void {
  useEffect(() => (root.current ? keepFocus(root.current, heirs) : undefined), []);
}

function keepFocus(root: HTMLElement, heirs: readonly string[]): () => void {
  let owner: Element | null = null;
  const onFocusIn = ({ target }: FocusEvent) => {
    owner = target instanceof Element ? target : null;
  };
  const onFocusOut = () => {
    // The person left by themselves, unless the owner is gone by the time this is over.
    queueMicrotask(() => {
      if (owner && !isGone(owner) && owner !== document.activeElement) owner = null;
    });
  };
  const observer = new MutationObserver(() => {
    if (!owner || !isGone(owner)) return;
    owner = null;
    const lost = document.activeElement === document.body || document.activeElement === null;
    if (lost || isGone(document.activeElement)) giveFocus(root, heirs);
  });
  root.addEventListener("focusin", onFocusIn);
  root.addEventListener("focusout", onFocusOut);
  const changes = { subtree: true, childList: true, attributes: true, attributeFilter: ["hidden"] };
  observer.observe(root, changes);
  return () => {
    observer.disconnect();
    root.removeEventListener("focusin", onFocusIn);
    root.removeEventListener("focusout", onFocusOut);
  };
}

function isGone(element: Element | null): boolean {
  return element !== null && (!element.isConnected || element.closest("[hidden]") !== null);
}

function giveFocus(root: HTMLElement, heirs: readonly string[]): void {
  for (const heir of heirs) {
    const element = root.querySelector<HTMLElement>(heir);
    if (!element || isGone(element)) continue;
    element.focus({ preventScroll: true });
    return;
  }
}
