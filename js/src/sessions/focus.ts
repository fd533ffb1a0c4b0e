/** Which line of the list the keys go from, and giving it the focus once it is drawn. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { AgentState } from "../protocol/runtime.gen";

/** The active line. Where its session isn't listed any more it is the one that has its place. */
export function useActive(lines: readonly AgentState[], selected: string | null) {
  const [active, setActive] = useState<string | null>(null);
  const last = useRef(0);
  const wanted = active ?? selected;
  const found = lines.findIndex(({ session_id }) => session_id === wanted);
  const at = found >= 0 ? found : Math.max(0, Math.min(last.current, lines.length - 1));
  last.current = at;
  return { at, setActive };
}

/**
 * Give the focus to a session's line.
 *
 * @param show Scrolls so that the line of an index is in sight.
 */
export function useFocus(
  scroller: { current: HTMLElement | null },
  lines: readonly AgentState[],
  show: (index: number) => void,
): (session: string) => void {
  const wanted = useRef<string | null>(null);
  const [, redraw] = useState({});
  useLayoutEffect(() => {
    if (wanted.current === null) return;
    const rows = scroller.current?.querySelectorAll<HTMLElement>(".as-SessRow") ?? [];
    const row = [...rows].find(({ dataset }) => dataset.session === wanted.current);
    if (!row) return;
    show(lines.findIndex(({ session_id }) => session_id === wanted.current));
    wanted.current = null;
    row.focus({ preventScroll: true });
  });
  return (session) => {
    wanted.current = session;
    redraw({});
  };
}

/** Scroll as little as needed to show a line whole under the head, which stays in sight. */
export function scrollTo(
  { current }: { current: HTMLElement | null },
  index: number,
  height: number,
  head: number,
): void {
  if (!current) return;
  const top = index * height;
  const room = current.clientHeight - head;
  if (top < current.scrollTop) current.scrollTop = top;
  else if (top + height > current.scrollTop + room) current.scrollTop = top + height - room;
}

/** Keep the line at the upper edge where it is while others come above it. */
export function useAnchor(
  scroller: { current: HTMLElement | null },
  lines: readonly AgentState[],
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
    const id = was.lines[at]?.session_id;
    const to = lines.findIndex(({ session_id }) => session_id === id);
    if (to >= 0 && to !== at) element.scrollTop += (to - at) * height;
  }, [lines, list]);
}
