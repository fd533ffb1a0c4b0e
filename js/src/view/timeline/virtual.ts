/** The lines that are worth having in the document: those in sight, some around, and the active one. */
import { useLayoutEffect, useReducer, useRef } from "preact/hooks";

/** The height of a line, that of `--as-row`. */
export const ROW = 26;
const OVERSCAN = 12;

interface Options {
  scroller: { current: HTMLElement | null };
  count: number;
  /** Kept in the document wherever it stands, so that it can hold the focus; -1 is none. */
  active: number;
  /** The height of each, where it isn't that of a row. */
  height?: number;
}

/** The indexes to draw, in order. */
export function useVirtual({ scroller, count, active, height = ROW }: Options): number[] {
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  const sight = useRef<Sight>({ first: 0, last: -1 });
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const look = () => {
      const { first, last } = inSight(element, height);
      if (first === sight.current.first && last === sight.current.last) return;
      sight.current = { first, last };
      redraw(0);
    };
    look();
    const observer = new ResizeObserver(look);
    observer.observe(element);
    element.addEventListener("scroll", look, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", look);
    };
  }, [height]);
  return drawn(sight.current, count, active);
}

interface Sight {
  first: number;
  last: number;
}

function inSight({ scrollTop, clientHeight }: HTMLElement, height: number): Sight {
  return {
    first: Math.floor(scrollTop / height),
    last: Math.ceil((scrollTop + clientHeight) / height) - 1,
  };
}

function drawn({ first, last }: Sight, count: number, active: number): number[] {
  const from = Math.max(0, Math.min(first, count - 1) - OVERSCAN);
  const to = Math.min(count - 1, last + OVERSCAN);
  const indexes = Array.from({ length: Math.max(0, to - from + 1) }, (_, at) => from + at);
  if (active < 0 || active >= count || (active >= from && active <= to)) return indexes;
  return active < from ? [active, ...indexes] : [...indexes, active];
}
