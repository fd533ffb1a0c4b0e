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
