/**
 * The rows that are worth having in the document: those in sight, some around, and the active one.
 *
 * virtual-core is kept at 3.13: later lines weigh twice as much, for gestures and anchors that rows of
 * one height don't need.
 */
import {
  defaultRangeExtractor,
  elementScroll,
  observeElementOffset,
  observeElementRect,
  type VirtualItem,
  Virtualizer,
} from "@tanstack/virtual-core";
import { useLayoutEffect, useReducer, useRef } from "preact/hooks";

/** The height of a row, that of `--as-row`. */
export const ROW = 26;
const OVERSCAN = 12;

interface Options {
  scroller: { current: HTMLElement | null };
  count: number;
  keyOf(index: number): string;
  /** Kept in the document wherever it stands, so that it can hold the focus; -1 is none. */
  active: number;
}

interface Virtual {
  items: VirtualItem[];
  height: number;
}

export function useVirtual({ scroller, count, keyOf, active }: Options): Virtual {
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  const held = useRef<Virtualizer<HTMLElement, HTMLElement> | null>(null);
  const options = {
    count,
    getItemKey: keyOf,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    overscan: OVERSCAN,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    onChange: () => redraw(0),
    rangeExtractor: (range: Parameters<typeof defaultRangeExtractor>[0]) =>
      withActive(defaultRangeExtractor(range), active),
  };
  held.current ??= new Virtualizer<HTMLElement, HTMLElement>(options);
  const virtualizer = held.current;
  virtualizer.setOptions(options);
  useLayoutEffect(() => virtualizer._didMount(), []);
  useLayoutEffect(() => virtualizer._willUpdate());
  return { items: virtualizer.getVirtualItems(), height: virtualizer.getTotalSize() };
}

function withActive(indexes: number[], active: number): number[] {
  const [first = 0] = indexes;
  if (active < 0 || indexes.includes(active)) return indexes;
  return active < first ? [active, ...indexes] : [...indexes, active];
}
