/** The lines themselves: a tree grid of which only the part in sight is in the document. */
import { useSignalEffect } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Debugger } from "../../model/debugger";
import { FileRow, MoreRow } from "./file_row";
import { type Line, lineOfRow, selectedLine } from "./lines";
import { RowLine } from "./row";
import { useScroller, useStay, useStick } from "./scroll";
import { ROW, useVirtual } from "./virtual";

interface RowsProps {
  model: Debugger;
  /** Those that the filter leaves, and what stands under them. */
  lines: readonly Line[];
}

export function Rows({ model, lines }: RowsProps) {
  const scroller = useScroller();
  const at = selectedLine(lines, model.selectedRow.value, model.selectedFile.value);
  const selected = lines[at]?.id ?? null;
  const active = Math.max(at, 0);
  const indexes = useVirtual({ scroller, count: lines.length, active });
  const sticks = model.sticks.value;
  useStick(scroller, sticks, lines.length);
  const stay = useStay(scroller, { lines, at, moves: sticks, filter: model.filter.value });
  const focus = useFocus(scroller, selected);
  useShow(model, lines, selected, scroller.toRow);

  const go = (index: number) => {
    const to = Math.min(lines.length - 1, Math.max(0, index));
    const line = lines[to];
    if (!line) return;
    pick(model, line);
    scroller.toRow(to);
    focus(line.id);
  };
  const fold = (line: Line, open: boolean) => {
    stay(line.id);
    model.fold(line.row.id, open);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const line = lines[active];
    if (!line || event.altKey || event.ctrlKey || event.metaKey) return;
    const to = target(event.key, active, pageOf(scroller.current)) ?? sideways(event.key, active);
    if (to !== undefined) go(to);
    else if (line.kind === "row" && line.files > 0 && FOLDS[event.key] !== undefined)
      fold(line, FOLDS[event.key] === true);
    else if (line.kind !== "row" && event.key === "Enter") open(model, line);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  /** Left leads from a file to its row, Right from a row to its first file. */
  const sideways = (key: string, from: number) => {
    if (key === "ArrowLeft" && lines[from]?.kind !== "row") return lineOfRow(lines, from);
    const inside = lines[from]?.kind === "row" && (lines[from + 1]?.kind ?? "row") !== "row";
    return key === "ArrowRight" && inside ? from + 1 : undefined;
  };
  return (
    <div
      ref={scroller.attach}
      class="as-Scroll as-mod-timeline"
      onScroll={() => {
        if (scroller.wentBack()) model.follow.value = false;
      }}
    >
      <div
        class="as-Rows"
        role="treegrid"
        aria-label="Events"
        aria-rowcount={lines.length}
        style={{ height: `${lines.length * ROW}px`, ...numberColumn(lines.at(-1)?.row.seq ?? 0) }}
        onKeyDown={onKeyDown}
      >
        {indexes.map((index) => {
          const line = lines[index];
          if (!line) return null;
          const place = {
            index: index + 1,
            top: index * ROW,
            selected: line.id === selected,
            active: index === active,
          };
          const select = () => {
            pick(model, line);
            focus(line.id);
          };
          if (line.kind === "file")
            return <FileRow key={line.id} line={line} {...place} onSelect={select} />;
          if (line.kind === "more")
            return (
              <MoreRow key={line.id} line={line} {...place} onSelect={() => open(model, line)} />
            );
          return (
            <RowLine
              key={line.id}
              row={line.row}
              files={line.files}
              note={model.notes.of(line.id)?.text ?? ""}
              open={!model.folded.value.has(line.id)}
              {...place}
              onSelect={select}
              onFold={(to) => fold(line, to)}
            />
          );
        })}
      </div>
    </div>
  );
}

function pick(model: Debugger, line: Line): void {
  if (line.kind === "row") model.select(line.row.id);
  else if (line.kind === "file")
    model.selectFile(line.row.id, { commit: line.file.commit, path: line.file.change.path });
  else model.selectFile(line.row.id, { commit: line.commit, path: null });
}

/** What Enter does on a line under a row: its place in the Changes tab. */
function open(model: Debugger, line: Exclude<Line, { kind: "row" }>): void {
  if (line.kind === "file") model.openCommit(line.file.commit, line.file.change.path);
  else model.openCommit(line.commit, null);
}

/** Numbers of five digits and more need a wider column than the stylesheet's. */
function numberColumn(last: number): Record<string, string> {
  const digits = String(last).length;
  return digits > 4 ? { "--as-number": `${digits * 7 + 17}px` } : {};
}

function pageOf(element: HTMLElement | null): number {
  return Math.max(1, Math.floor((element?.clientHeight ?? 0) / ROW) - 1);
}

const FOLDS: Record<string, boolean> = { ArrowLeft: false, ArrowRight: true };

function target(key: string, at: number, page: number): number | undefined {
  const by: Record<string, number> = {
    ArrowUp: at - 1,
    ArrowDown: at + 1,
    PageUp: at - page,
    PageDown: at + page,
    Home: 0,
    End: Number.POSITIVE_INFINITY,
  };
  return by[key];
}

/** Give the focus to a line once it is drawn; from line to line it goes along with the selection. */
function useFocus(scroller: { current: HTMLElement | null }, selected: string | null) {
  const wanted = useRef<string | null>(null);
  const give = () => {
    if (wanted.current === null) return;
    const drawn = scroller.current?.querySelectorAll<HTMLElement>(".as-Row") ?? [];
    const element = [...drawn].find(({ dataset }) => dataset.row === wanted.current);
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

/** Show the row that was asked for from elsewhere, and with Follow on the line that is selected. */
function useShow(
  model: Debugger,
  lines: readonly Line[],
  selected: string | null,
  toRow: (index: number) => void,
): void {
  const latest = useRef(lines);
  latest.current = lines;
  const show = (id: string | undefined | null) => {
    const at = latest.current.findLastIndex((line) => line.id === id);
    if (at >= 0) toRow(at);
  };
  useSignalEffect(() => {
    const { value } = model.revealed;
    // After the filter was cleared and the timeline drawn.
    if (value) requestAnimationFrame(() => show(value.row));
  });
  useLayoutEffect(() => {
    if (model.follow.peek()) show(selected);
  }, [selected]);
}
