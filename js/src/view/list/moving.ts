/** Moving in a list whose lines have one height, and of which only the part in sight is in the document. */
import { useLayoutEffect, useRef } from "preact/hooks";

interface Scroller {
  current: HTMLElement | null;
}

/** The index a key leads to from line `at`, which may be beyond the list; undefined: not a key of lists. */
export function targetOf(key: string, at: number, page: number): number | undefined {
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
export function useAnchor<T>(
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
