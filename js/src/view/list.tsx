/** Lists of which only the part in sight is in the document: their lines, and what they are sorted by. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";

import { Icon } from "../icons/icon";
import { Select } from "./fields";
import { lineIndexForKey, pageOf, scrollTo, useTopLineAnchor } from "./focus";
import { useVirtual } from "./timeline/scroll";

export interface Column<By> {
  /** What it sorts by; null where it doesn't. */
  by: By | null;
  label: string;
  figure?: boolean;
}

export interface Sorting<By> {
  columns: readonly Column<By>[];
  order: { by: By; down: boolean };
  /** Sort by a column; by the one that it is sorted by: the other way around. */
  sort(by: By): void;
}

export function ColumnHeads<By extends string>({ columns, order, sort }: Sorting<By>) {
  return columns.map(({ by, label, figure }) => {
    const place = figure ? "as-Column-figure" : "";
    if (by === null)
      return (
        <span key={label} class={place} role="columnheader">
          {label}
        </span>
      );
    const mine = order.by === by;
    const direction = order.down ? "descending" : "ascending";
    return (
      <span key={label} class={place} role="columnheader" aria-sort={mine ? direction : undefined}>
        <button
          type="button"
          class="as-Column-sort"
          title={`Sort by ${label.toLowerCase()}`}
          onClick={() => sort(by)}
        >
          {label}
          {mine && <Icon name="down" small class={order.down ? "" : "as-mod-up"} />}
        </button>
      </span>
    );
  });
}

/** The same as a menu, in the list's narrow form. */
export function SortMenu<By extends string>({ columns, order, sort }: Sorting<By>) {
  return (
    <>
      <Select
        label="Sort by"
        value={order.by}
        options={columns.flatMap(({ by, label }) => (by ? [[by, label] as const] : []))}
        onChange={sort}
      />
      <button
        type="button"
        class="as-Button as-mod-icon"
        title={order.down ? "The largest or newest first" : "The smallest or oldest first"}
        aria-label="Reverse the order"
        onClick={() => sort(order.by)}
      >
        <Icon name="down" class={order.down ? "" : "as-mod-up"} />
      </button>
    </>
  );
}

// ---- Lines, one of which is active: the keys go from it, and Tab leads to it.

interface LinesOptions<T> {
  lines: readonly T[];
  idOf(line: T): string;
  /** What a row is found by, and the name of its `data-` attribute that has the line's id. */
  row: string;
  data: string;
  /** Heights in pixels: of a line, and of the head above, which stays in sight. */
  height: number;
  head: number;
  /** The line that is active until the person goes elsewhere. */
  selected: string | undefined;
  /** What the lines are a list of: with another one it begins at its top. */
  list: string;
}

/** For a grid: its `ref`, `onFocusIn`, which lines to draw, and going from one to another. */
export function useLines<T>(options: LinesOptions<T>) {
  const { lines, idOf, row, data, height, head, selected, list } = options;
  const scroller = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState<string | null>(null);
  const last = useRef(0);
  const found = lines.findIndex((line) => idOf(line) === (active ?? selected));
  // Where its line is gone it is the one that has its place.
  const at = found >= 0 ? found : Math.max(0, Math.min(last.current, lines.length - 1));
  last.current = at;
  const indexes = useVirtual({ scroller, count: lines.length, active: at, height });
  useTopLineAnchor(scroller, lines, idOf, height, list);

  const wanted = useRef<string | null>(null);
  const [, redraw] = useState({});
  useLayoutEffect(() => {
    if (wanted.current === null) return;
    const rows = scroller.current?.querySelectorAll<HTMLElement>(row) ?? [];
    const element = [...rows].find(({ dataset }) => dataset[data] === wanted.current);
    if (!element) return;
    const index = lines.findIndex((line) => idOf(line) === wanted.current);
    scrollTo(scroller, index, height, head);
    wanted.current = null;
    element.focus({ preventScroll: true });
  });
  /** Give the focus to a line, once it is drawn. */
  const focus = (id: string) => {
    wanted.current = id;
    redraw({});
  };
  const go = (index: number) => {
    const line = lines[Math.min(lines.length - 1, Math.max(0, index))];
    if (!line) return;
    setActive(idOf(line));
    focus(idOf(line));
  };
  /** The row that an event comes from, its line, and where a key leads from there. */
  const from = ({ target }: Event) => {
    const element = rowOf(target, row);
    const index = lines.findIndex((line) => idOf(line) === element?.dataset[data]);
    const line = lines[index];
    return element && line ? { element, line, index } : null;
  };
  const targetFrom = (key: string, index: number) =>
    lineIndexForKey(key, index, pageOf(scroller.current, height, 2));
  const onFocusIn = (event: Event) => {
    const there = from(event);
    if (there) setActive(idOf(there.line));
  };
  return { scroller, at, indexes, setActive, focus, go, from, targetFrom, onFocusIn };
}

/** The row that something stands in; null where it is in none. */
export function rowOf(target: EventTarget | null, row: string): HTMLElement | null {
  return target instanceof Element ? target.closest<HTMLElement>(row) : null;
}

const SIDEWAYS: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1 };

/** Left and Right lead from a row through what can be done with it, and back; whether it was such a key. */
export function moveFocusSideways(row: Element, key: string): boolean {
  const by = SIDEWAYS[key];
  if (by === undefined) return false;
  const stops = [row, ...row.querySelectorAll("button")] as HTMLElement[];
  const at = stops.indexOf(document.activeElement as HTMLElement);
  stops[Math.min(stops.length - 1, Math.max(0, at + by))]?.focus({ preventScroll: true });
  return true;
}
