/** The rows themselves: a tree grid of which only the part in sight is in the document. */
import { useSignalEffect } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Debugger } from "../../model/debugger";
import type { Row } from "../../model/model";
import { RowLine } from "./row";
import { useScroller, useStick } from "./scroll";
import { ROW, useVirtual } from "./virtual";

interface RowsProps {
  model: Debugger;
  /** Those that the filter leaves. */
  rows: readonly Row[];
}

export function Rows({ model, rows }: RowsProps) {
  const scroller = useScroller();
  const selected = model.selectedRow.value;
  const at = rows.findLastIndex(({ id }) => id === selected);
  const active = Math.max(at, 0);
  const keyOf = (index: number) => rows[index]?.id ?? String(index);
  const { items, height } = useVirtual({ scroller, count: rows.length, keyOf, active });
  useStick(scroller, model.sticks.value, rows.length);
  const focus = useFocus(scroller, selected);
  useShow(model, rows, scroller.toRow);

  const go = (index: number) => {
    const to = Math.min(rows.length - 1, Math.max(0, index));
    const row = rows[to];
    if (!row) return;
    model.select(row.id);
    scroller.toRow(to);
    focus(row.id);
  };
  return (
    <div
      ref={scroller.attach}
      class="as-Scroll"
      onScroll={() => {
        if (scroller.wentBack()) model.follow.value = false;
      }}
    >
      <div
        class="as-Rows"
        role="treegrid"
        aria-label="Events"
        aria-rowcount={rows.length}
        style={{ height: `${height}px`, ...numberColumn(rows.at(-1)?.seq ?? 0) }}
        onKeyDown={(event) => onKeyDown(event, active, pageOf(scroller.current), go)}
      >
        {items.map(({ index, start }) => {
          const row = rows[index];
          return (
            row && (
              <RowLine
                key={row.id}
                row={row}
                index={index + 1}
                top={start}
                selected={row.id === selected}
                active={index === active}
                onSelect={(id) => {
                  model.select(id);
                  focus(id);
                }}
              />
            )
          );
        })}
      </div>
    </div>
  );
}

/** Numbers of five digits and more need a wider column than the stylesheet's. */
function numberColumn(last: number): Record<string, string> {
  const digits = String(last).length;
  return digits > 4 ? { "--as-number": `${digits * 7 + 17}px` } : {};
}

function pageOf(element: HTMLElement | null): number {
  return Math.max(1, Math.floor((element?.clientHeight ?? 0) / ROW) - 1);
}

function onKeyDown(event: KeyboardEvent, at: number, page: number, go: (index: number) => void) {
  const by: Record<string, number> = {
    ArrowUp: at - 1,
    ArrowDown: at + 1,
    PageUp: at - page,
    PageDown: at + page,
    Home: 0,
    End: Number.POSITIVE_INFINITY,
  };
  const to = by[event.key];
  if (to === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  event.stopPropagation();
  go(to);
}

/** Give the focus to a row once it is drawn; from row to row it goes along with the selection. */
function useFocus(scroller: { current: HTMLElement | null }, selected: string | null) {
  const wanted = useRef<string | null>(null);
  const give = () => {
    if (wanted.current === null) return;
    const query = `[data-row="${CSS.escape(wanted.current)}"]`;
    const element = scroller.current?.querySelector<HTMLElement>(query);
    if (!element) return;
    wanted.current = null;
    element.focus({ preventScroll: true });
  };
  useLayoutEffect(() => {
    const onRow = document.activeElement?.classList.contains("as-Row");
    if (onRow && scroller.current?.contains(document.activeElement)) wanted.current ??= selected;
    give();
  }, [selected]);
  return (id: string) => {
    wanted.current = id;
    give();
  };
}

/** Show the row that was asked for from elsewhere, and with Follow on the one that is selected. */
function useShow(model: Debugger, rows: readonly Row[], toRow: (index: number) => void): void {
  const latest = useRef(rows);
  latest.current = rows;
  const show = (id: string | undefined | null) => {
    const at = latest.current.findLastIndex((row) => row.id === id);
    if (at >= 0) toRow(at);
  };
  useSignalEffect(() => {
    const { value } = model.revealed;
    // After the filter was cleared and the timeline drawn.
    if (value) requestAnimationFrame(() => show(value.row));
  });
  useLayoutEffect(() => {
    if (model.follow.peek()) show(model.selectedRow.peek());
  }, [model.selectedRow.value]);
}
