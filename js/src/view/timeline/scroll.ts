/** Which lines of a list are in sight, and how a timeline scrolls. */
import { useLayoutEffect, useReducer, useRef } from "preact/hooks";
import { isSameFilter } from "../../model/rows";
import type { Line, Lines } from "./lines";

/** A scroll position with the memory of where the view itself last put it. */
export interface Scroller {
  readonly current: HTMLElement | null;
  /** For the element's `ref`. */
  attach(element: HTMLElement | null): void;
  scrollToEnd(): void;
  /** Scroll as little as needed to show a row whole. */
  scrollToRow(index: number): void;
  /** Where a row isn't in sight, scroll so that it stands amid others. */
  scrollToMiddle(index: number): void;
  /** Keep a row in sight that was there before the list lost height. */
  keepInSight(index: number): void;
  /** Scroll along with lines that came or went further up. */
  shiftBy(lines: number): void;
  /** The line at the upper edge, and whether one is in sight. */
  first(): number;
  isVisible(index: number): boolean;
  /** Whether the person has scrolled back since. To be called on each scroll event. */
  hasScrolledUp(): boolean;
}

export function useScroller(): Scroller {
  const scroller = useRef<Scroller | null>(null);
  scroller.current ??= makeScroller();
  return scroller.current;
}

function makeScroller(): Scroller {
  let element: HTMLElement | null = null;
  let last = 0;
  let before = 0; // the height it had
  const put = (top: number) => {
    if (!element) return;
    element.scrollTop = top;
    last = element.scrollTop;
  };
  /** Scroll so that this is the last row in sight. Whole rows stay whole: what is left over is air. */
  const putLast = (index: number) => {
    const over = (index + 1) * ROW_HEIGHT_PX - (element?.clientHeight ?? 0);
    put(Math.max(0, Math.ceil(over / ROW_HEIGHT_PX) * ROW_HEIGHT_PX));
  };
  return {
    get current() {
      return element;
    },
    attach(to) {
      element = to;
    },
    scrollToEnd() {
      // A row of air stands below the last one.
      if (element) putLast(Math.round(element.scrollHeight / ROW_HEIGHT_PX) - 2);
    },
    scrollToRow(index) {
      if (!element) return;
      const top = index * ROW_HEIGHT_PX;
      const { scrollTop, clientHeight } = element;
      if (top < scrollTop) put(top);
      else if (top + ROW_HEIGHT_PX > scrollTop + clientHeight) putLast(index);
    },
    scrollToMiddle(index) {
      if (!element) return;
      const { scrollTop, clientHeight } = element;
      const top = index * ROW_HEIGHT_PX;
      if (top >= scrollTop && top + ROW_HEIGHT_PX <= scrollTop + clientHeight) return;
      put(Math.max(0, index - Math.floor(clientHeight / ROW_HEIGHT_PX / 2)) * ROW_HEIGHT_PX);
    },
    keepInSight(index) {
      const { scrollTop = 0, clientHeight: height = 0 } = element ?? {};
      const top = index * ROW_HEIGHT_PX;
      if (height && height < before && top >= scrollTop && top < scrollTop + before)
        this.scrollToRow(index);
      before = height || before; // a hidden list has none
    },
    shiftBy(lines) {
      if (element && lines !== 0) put(element.scrollTop + lines * ROW_HEIGHT_PX);
    },
    first() {
      return Math.ceil((element?.scrollTop ?? 0) / ROW_HEIGHT_PX);
    },
    isVisible(index) {
      const { scrollTop = 0, clientHeight = 0 } = element ?? {};
      return (
        index * ROW_HEIGHT_PX < scrollTop + clientHeight && (index + 1) * ROW_HEIGHT_PX > scrollTop
      );
    },
    hasScrolledUp() {
      if (!element) return false;
      const { scrollTop, scrollHeight, clientHeight } = element;
      // A view that grows or a list that shrinks moves the end to here: that isn't the person.
      const back = scrollTop < last - 1 && scrollHeight - clientHeight > scrollTop + 1;
      last = scrollTop;
      return back;
    },
  };
}

/** Hold the timeline at its end while it sticks there, whatever comes or changes size; else its selected row. */
export function useFollowEnd(
  scroller: Scroller,
  follows: boolean,
  count: number,
  selected: number,
): void {
  const at = useRef(selected);
  at.current = selected;
  useLayoutEffect(() => {
    if (follows) scroller.scrollToEnd();
  }, [follows, count]);
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const observer = new ResizeObserver(() =>
      follows ? scroller.scrollToEnd() : scroller.keepInSight(at.current),
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, [follows]);
}

interface LineAnchorOptions {
  lines: Lines;
  /** The index of the selected line. */
  at: number;
  /** Whether the timeline goes to its end by itself. */
  moves: boolean;
}

/**
 * Lines that come or go above what a person reads move nothing: the selected line stays where it is, or
 * the first one in sight. Gives back a function that makes another line stay at the next change.
 */
export function useLineAnchor(scroller: Scroller, { lines, at, moves }: LineAnchorOptions) {
  const before = useRef({ lines, at });
  const named = useRef<Line | null>(null);
  useLayoutEffect(() => {
    const old = before.current;
    before.current = { lines, at };
    const { current } = named;
    named.current = null;
    if (moves || old.lines === lines || !isSameFilter(old.lines.filter, lines.filter)) return;
    const anchorIndex = old.at >= 0 && scroller.isVisible(old.at) ? old.at : scroller.first();
    const line = current ?? old.lines.at(anchorIndex);
    if (!line) return;
    const now = lines.indexOf(line);
    if (now >= 0)
      scroller.shiftBy(now - (current === null ? anchorIndex : old.lines.indexOf(line)));
  });
  return (line: Line) => {
    named.current = line;
  };
}

// ---- The lines that are worth having in the document: those in sight, some around, and the active one.

/** The height of a line, that of `--as-row`. */
export const ROW_HEIGHT_PX = 26;
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
export function useVirtual({ scroller, count, active, height = ROW_HEIGHT_PX }: Options): number[] {
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  const sight = useRef<VisibleRange>({ first: 0, last: -1 });
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

interface VisibleRange {
  first: number;
  last: number;
}

function inSight({ scrollTop, clientHeight }: HTMLElement, height: number): VisibleRange {
  return {
    first: Math.floor(scrollTop / height),
    last: Math.ceil((scrollTop + clientHeight) / height) - 1,
  };
}

function drawn({ first, last }: VisibleRange, count: number, active: number): number[] {
  const from = Math.max(0, Math.min(first, count - 1) - OVERSCAN);
  const to = Math.min(count - 1, last + OVERSCAN);
  const indexes = Array.from({ length: Math.max(0, to - from + 1) }, (_, at) => from + at);
  if (active < 0 || active >= count || (active >= from && active <= to)) return indexes;
  return active < from ? [active, ...indexes] : [...indexes, active];
}
