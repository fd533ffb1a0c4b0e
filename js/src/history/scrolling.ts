/** Where the list of runs is scrolled to: what comes or goes further up moves nothing in sight. */
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Run } from "../model/model";

interface Scroller {
  current: HTMLElement | null;
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
 * @param list What the lines are a list of: with another one it begins at its top.
 */
export function useAnchor(
  scroller: Scroller,
  lines: readonly Run[],
  height: number,
  list: unknown,
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
    const to = lines.findIndex(({ id }) => id === was.lines[at]?.id);
    if (to >= 0 && to !== at) element.scrollTop += (to - at) * height;
  }, [lines, list]);
}
