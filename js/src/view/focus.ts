/** Where the keyboard is: toolbars and lists with one tab stop, and focus that outlives a redraw. */
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

const STEPS: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1 };

/** For a toolbar's `ref`, `onFocusIn` and `onKeyDown`. */
export function useRovingTabIndex<T extends HTMLElement>() {
  const ref = useRef<T>(null);
  const last = useRef<HTMLElement | null>(null);
  const stops = () => [...(ref.current?.querySelectorAll<HTMLElement>("button, a[href]") ?? [])];
  const settle = () => {
    const all = stops();
    const one = all.find((each) => each === last.current) ?? all[0];
    for (const each of all) each.tabIndex = each === one ? 0 : -1;
  };
  // Buttons come and go with what is possible.
  useLayoutEffect(settle);
  const onFocusIn = ({ target }: FocusEvent) => {
    last.current = target instanceof HTMLElement ? target : null;
    settle();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    if (step === undefined) return;
    const all = stops();
    const at = all.indexOf(document.activeElement as HTMLElement);
    all[(at + step + all.length) % all.length]?.focus();
    event.preventDefault();
    event.stopPropagation();
  };
  return { ref, onFocusIn, onKeyDown };
}

// ---- The focus stays in the view when what had it goes: a notice that is dismissed, a tab that is hidden.
// A browser would give it to the page, and the next key would be JupyterLab's.

/** Where it may go, the best first. */
const FOCUS_FALLBACKS = [
  '.as-Row[tabindex="0"]',
  '.as-Pair[tabindex="0"]',
  '.as-BreakpointRow[tabindex="0"]',
  '.as-RunRow[tabindex="0"]',
  '.as-Hit[tabindex="0"]',
  '.as-Tab[aria-selected="true"]',
  ".as-View",
];

export function useKeepFocus(
  root: { current: HTMLElement | null },
  fallbacks = FOCUS_FALLBACKS,
): void {
  useEffect(() => (root.current ? keepFocus(root.current, fallbacks) : undefined), []);
}

function keepFocus(root: HTMLElement, fallbacks: readonly string[]): () => void {
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
    if (lost || isGone(document.activeElement)) giveFocus(root, fallbacks);
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

function giveFocus(root: HTMLElement, fallbacks: readonly string[]): void {
  for (const heir of fallbacks) {
    const element = root.querySelector<HTMLElement>(heir);
    if (!element || isGone(element)) continue;
    element.focus({ preventScroll: true });
    return;
  }
}

// ---- Moving in a list whose lines have one height, and of which only the part in sight is in the document.

interface Scroller {
  current: HTMLElement | null;
}

/** The index a key leads to from line `at`, which may be beyond the list; undefined: not a key of lists. */
export function lineIndexForKey(key: string, at: number, page: number): number | undefined {
  const to: Record<string, number> = {
    ArrowUp: at - 1,
    ArrowDown: at + 1,
    PageUp: at - page,
    PageDown: at + page,
    Home: 0,
    End: Number.POSITIVE_INFINITY,
  };
  return to[key];
}

/** How many lines a page key moves by: those in sight, less `kept` that stay. */
export function pageOf(element: HTMLElement | null, height: number, kept: number): number {
  return Math.max(1, Math.floor((element?.clientHeight ?? 0) / height) - kept);
}

/** Scroll as little as needed to show a line whole under the head, which stays in sight. */
export function scrollTo({ current }: Scroller, index: number, height: number, head: number): void {
  if (!current) return;
  const top = index * height;
  const room = current.clientHeight - head;
  if (top < current.scrollTop) current.scrollTop = top;
  else if (top + height > current.scrollTop + room) current.scrollTop = top + height - room;
}

/**
 * Keep the line at the upper edge where it is while others come and go.
 *
 * @param lines The lines; another array where they changed.
 * @param list What the lines are a list of: with another one it begins at its top.
 */
export function useTopLineAnchor<T>(
  scroller: Scroller,
  lines: readonly T[],
  idOf: (line: T) => string,
  height: number,
  list: string,
): void {
  const before = useRef({ lines, list });
  useLayoutEffect(() => {
    const was = before.current;
    before.current = { lines, list };
    const element = scroller.current;
    if (!element || was.lines === lines) return;
    if (was.list !== list) {
      element.scrollTop = 0;
      return;
    }
    if (element.scrollTop === 0) return; // who is at the top sees what is new
    const at = Math.floor(element.scrollTop / height);
    const anchor = was.lines[at];
    const to = anchor ? lines.findIndex((line) => idOf(line) === idOf(anchor)) : -1;
    if (to >= 0 && to !== at) element.scrollTop += (to - at) * height;
  }, [lines, list]);
}

// ---- Lists with one tab stop, moved in with the arrow keys.

/** Where a key leads in a list; undefined where it is no key of lists. */
export function nextItemIndex(key: string, at: number, length: number): number | undefined {
  if (length === 0) return undefined;
  if (key === "ArrowDown") return Math.min(length - 1, at + 1);
  if (key === "ArrowUp") return Math.max(0, at - 1);
  if (key === "Home") return 0;
  if (key === "End") return length - 1;
  return undefined;
}

/** Focus an item of a list and bring it into sight, without moving anything else. */
export function focusItem(list: Element, at: number): void {
  const item = list.querySelectorAll<HTMLElement>("[data-item]")[at];
  item?.focus({ preventScroll: true });
  item?.scrollIntoView({ block: "nearest" });
}

/** Keys that a list has used go no further: the view has a meaning for some of them, too. */
export function consumeKey(event: KeyboardEvent): void {
  event.preventDefault();
  event.stopPropagation();
}

/** Whether a person can see an element: nothing lies over its middle, and nothing has scrolled it away. */
export function isInSight(element: Element): boolean {
  const { left, top, width, height } = element.getBoundingClientRect();
  const around = element.getRootNode();
  if (!(around instanceof Document || around instanceof ShadowRoot)) return false;
  const there = around.elementFromPoint(left + width / 2, top + height / 2);
  return there !== null && element.contains(there);
}
