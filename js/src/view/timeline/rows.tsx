/** The lines themselves: a tree grid of which only the part in sight is in the document. */
import { useComputed, useSignalEffect } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { ChangeLetter, Diffstat } from "../../changes/change_badges";
import { addBreakpointLike } from "../../model/breakpoints";
import { isUsable } from "../../model/controls";
import type { Debugger } from "../../model/debugger";
import { nextFrame } from "../../model/inbox";
import type { Lane } from "../../model/lanes";
import type { SelectedFile, TimelineRow } from "../../model/model";
import { rowOf } from "../../model/rows";
import { goalLike } from "../../model/steps";
import { lineIndexForKey, pageOf } from "../focus";
import { escapeInvisible, formatCount } from "../format";
import { LaneBar } from "./lane";
import { type FileLine, isFiltered, type Line, type Lines, type MoreLine } from "./lines";
import { BlankRow, IndentGuides, RowLine, type RowPositionProps, rowPositionProps } from "./row";
import {
  ROW_HEIGHT_PX,
  type Scroller,
  useFollowEnd,
  useLineAnchor,
  useScroller,
  useVirtual,
} from "./scroll";

interface RowsProps {
  model: Debugger;
  /** Those that the filter leaves, and what stands under them. */
  lines: Lines;
}

export function Rows({ model, lines }: RowsProps) {
  const scroller = useScroller();
  const at = lines.selected(model.selectedRow.value, model.selectedFile.value);
  const selected = lines.at(at)?.id ?? null;
  const active = Math.max(pendingSeq(model, lines) ?? at, 0);
  const sticks = model.isAtEnd.value;
  useFollowEnd(scroller, sticks, lines.count, at);
  const indexes = useVirtual({ scroller, count: lines.count, active });
  useVisibleRows(model, lines, indexes);
  const stay = useLineAnchor(scroller, { lines, at, moves: sticks });
  const focus = useFocus(scroller, lines.at(active)?.id ?? null);
  useShow(model, lines, selected, scroller);

  const event = rowOf(model.rows.value, model.selectedRow.value)?.event ?? null;
  const asked = useComputed(() => askedTokens(model.rows.value)).value;

  const pick = (line: Line) => {
    focus(line.id);
    void pickLine(model, line)?.then((row) => row && focus(row.id));
  };
  const go = (index: number) => {
    const to = Math.min(lines.count - 1, Math.max(0, index));
    const line = lines.at(to);
    if (!line) return;
    pick(line);
    scroller.scrollToRow(to);
  };
  const fold = (line: RowLineOf, open: boolean) => {
    stay(line);
    model.fold(line.id, open);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const line = lines.at(active);
    if (!line || event.altKey || event.ctrlKey || event.metaKey) return;
    const to =
      lineIndexForKey(event.key, active, pageOf(scroller.current, ROW_HEIGHT_PX, 1)) ??
      sideways(event.key, active);
    if (to !== undefined) go(to);
    else if (line.kind === "row" && line.files > 0 && FOLDS[event.key] !== undefined)
      fold(line, FOLDS[event.key] === true);
    else if ((line.kind === "file" || line.kind === "more") && event.key === "Enter")
      open(model, line);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  /** Left leads from a file to its row, Right from a row to its first file. */
  const sideways = (key: string, from: number) => {
    const line = lines.at(from);
    if (key === "ArrowLeft" && line && isUnder(line)) return lines.indexOfRow(line.seq);
    const inside = line?.kind === "row" && isUnder(lines.at(from + 1));
    return key === "ArrowRight" && inside ? from + 1 : undefined;
  };
  return (
    <div
      ref={scroller.attach}
      class="as-Scroll as-mod-timeline"
      onScroll={() => {
        if (scroller.hasScrolledUp()) model.follow.value = false;
      }}
    >
      <div
        class="as-Rows"
        role="treegrid"
        aria-label="Events"
        aria-rowcount={lines.count}
        style={{ height: `${lines.count * ROW_HEIGHT_PX}px`, ...numberColumn(lines.lastSeq) }}
        onKeyDown={onKeyDown}
      >
        {indexes.map((index) => {
          const line = lines.at(index);
          if (!line) return null;
          const place = {
            index: index + 1,
            top: index * ROW_HEIGHT_PX,
            selected: line.id === selected,
            active: index === active,
          };
          const select = () => pick(line);
          if (line.kind === "blank")
            return <BlankRow key={line.id} seq={line.seq} {...place} onSelect={select} />;
          const lane = model.lanes.value.laneOfRow(line.row);
          if (line.kind === "file")
            return <FileRow key={line.id} line={line} lane={lane} {...place} onSelect={select} />;
          if (line.kind === "more") {
            const onSelect = () => open(model, line);
            return <MoreRow key={line.id} line={line} lane={lane} {...place} onSelect={onSelect} />;
          }
          return (
            <RowLine
              key={line.id}
              row={line.row}
              lane={lane}
              asked={line.row.side === "begin" ? asked.get(line.row.event) : undefined}
              files={line.files}
              paired={line.row.event === event && line.id !== selected && line.row.side !== null}
              note={model.notes.get(line.id)?.text ?? ""}
              breakpoints={model.breakpoints}
              onAddBreakpoint={
                model.control.value ? () => addBreakpointLike(model, line.row) : null
              }
              onRunTo={runTo(model, line.row)}
              open={!model.foldedRows.value.has(line.id)}
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

/** Runs to the next halt point like a row; null where that is impossible. */
function runTo(model: Debugger, row: TimelineRow): (() => void) | null {
  const goal = goalLike(row);
  if (!goal || !isUsable(model.controlStates.value.to)) return null;
  return () => void model.step(goal);
}

type RowLineOf = Extract<Line, { kind: "row" }>;
type Under = Extract<Line, { kind: "file" | "more" }>;

const isUnder = (line: Line | undefined): line is Under =>
  line?.kind === "file" || line?.kind === "more";

/** The line of the row that will be selected once it is here; keys go on from there. */
function pendingSeq(model: Debugger, lines: Lines): number | null {
  const row = model.pendingTarget.value?.row;
  const at = typeof row === "number" ? lines.indexOfRow(row) : -1;
  return at < 0 ? null : at;
}

/** Select a line; one that isn't here yet is promised. */
function pickLine(model: Debugger, line: Line): Promise<TimelineRow | null> | undefined {
  if (line.kind === "blank") return model.goTo(line.seq);
  if (line.kind === "row") model.select(line.id);
  else if (line.kind === "file")
    model.selectFile(line.row.id, { commit: line.file.commit, path: line.file.change.path });
  else model.selectFile(line.row.id, { commit: line.commit, path: null });
  return undefined;
}

/** What Enter does on a line under a row: its place in the Changes tab. */
function open(model: Debugger, line: Under): void {
  if (line.kind === "file") model.openCommit(line.file.commit, line.file.change.path);
  else model.openCommit(line.commit, null);
}

/** Numbers of five digits and more need a wider column than the stylesheet's. */
function numberColumn(last: number): Record<string, string> {
  const digits = String(last).length;
  return digits > 4 ? { "--as-number": `${digits * 7 + 17}px` } : {};
}

const FOLDS: Record<string, boolean> = { ArrowLeft: false, ArrowRight: true };

/** Give the focus to a line once it is drawn; from line to line it goes along with the active one. */
function useFocus(scroller: { current: HTMLElement | null }, active: string | null) {
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
    if (onRow && scroller.current?.contains(document.activeElement)) wanted.current ??= active;
    give();
  }, [active]);
  return (id: string) => {
    wanted.current = id;
    give();
  };
}

/** Show the row that was asked for from elsewhere, and with Follow on the line that is selected. */
function useShow(model: Debugger, lines: Lines, selected: string | null, scroller: Scroller): void {
  const latest = useRef(lines);
  latest.current = lines;
  const show = (row: string | null, file: SelectedFile | null) => {
    const at = latest.current.selected(row, file);
    if (at < 0) return;
    // Who comes from elsewhere wants to see what is around it.
    if (model.revealedRow.peek()?.row === row) scroller.scrollToMiddle(at);
    else scroller.scrollToRow(at);
  };
  useSignalEffect(() => {
    const { value } = model.revealedRow;
    // After the filter was cleared and the timeline drawn.
    if (value) requestAnimationFrame(() => show(value.row, null));
  });
  useLayoutEffect(() => {
    if (model.follow.peek()) show(model.selectedRow.peek(), model.selectedFile.peek());
  }, [selected]);
}

// ---- How many tokens each prompt was, as its answer told. Pure.

/** Tokens by the event that they were sent in, as far as its answer is here and tells them. */
function askedTokens(rows: readonly TimelineRow[]): ReadonlyMap<string, number> {
  const asked = new Map<string, number>();
  for (const { event, usage } of rows) {
    if (usage?.input_tokens != null) asked.set(event, usage.input_tokens);
  }
  return asked;
}

// ---- The rows that are in sight are asked for, and those a little above and below.

/** @param indexes Of the lines that are drawn. */
function useVisibleRows(model: Debugger, lines: Lines, indexes: readonly number[]): void {
  const latest = useRef({ lines, indexes });
  latest.current = { lines, indexes };
  const asked = useRef(false);
  useLayoutEffect(() => {
    if (asked.current) return;
    asked.current = true;
    // When the timeline stands where it will be seen: the first lines drawn aren't, where it begins at its end.
    nextFrame(() => {
      asked.current = false;
      const { lines, indexes } = latest.current;
      const seqs = new Set(indexes.flatMap((index) => lines.at(index)?.seq ?? []));
      model.window.setVisible({ seqs: [...seqs], dense: !isFiltered(lines.filter) });
    });
  });
}

// ---- The lines under a row: a file that it changed, and the count of those that are too many.

interface FileRowProps extends RowPositionProps {
  line: FileLine;
  lane: Lane | null;
  onSelect(): void;
}

export function FileRow({ line, lane, onSelect, ...place }: FileRowProps) {
  const { change } = line.file;
  const path = escapeInvisible(change.path);
  const before =
    change.previous_path === null ? "" : `, before ${escapeInvisible(change.previous_path)}`;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the timeline takes the keys of all its rows
    <div
      {...rowPositionProps(place, line.id, line.row.depth + 2)}
      role="row"
      class="as-Row as-mod-file"
      title={`${path}${before}: Enter shows it in Changes`}
      onClick={onSelect}
    >
      <span class="as-FileLine" role="gridcell">
        {lane && <LaneBar hue={lane.hue} />}
        <IndentGuides depth={line.row.depth + 1} />
        <ChangeLetter kind={change.kind} />
        <span class="as-Ellipsis as-PathStart">
          <bdi>{path}</bdi>
        </span>
      </span>
      <span class="as-Row-stat" role="gridcell">
        {change.binary ? <span>binary</span> : <Diffstat {...change} />}
      </span>
    </div>
  );
}

interface MoreRowProps extends RowPositionProps {
  line: MoreLine;
  lane: Lane | null;
  onSelect(): void;
}

export function MoreRow({ line, lane, onSelect, ...place }: MoreRowProps) {
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the timeline takes the keys of all its rows
    <div
      {...rowPositionProps(place, line.id, line.row.depth + 2)}
      role="row"
      class="as-Row as-mod-file"
      title="Show all files of this step in Changes (Enter)"
      onClick={onSelect}
    >
      <span class="as-FileLine" role="gridcell">
        {lane && <LaneBar hue={lane.hue} />}
        <IndentGuides depth={line.row.depth + 1} />
        <span class="as-Link as-Ellipsis">{`… ${formatCount(line.count, "more file")}`}</span>
      </span>
    </div>
  );
}
