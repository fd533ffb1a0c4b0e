/** The runs as a grid, of which only the part in sight is in the document. */

import { useSignalEffect } from "@preact/signals";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Debugger } from "../model/debugger";
import { type History, historyOf, type Column as RunColumn } from "../model/history";
import type { Run } from "../model/model";
import { type Column, ColumnHeads, OrderMenu } from "../view/columns";
import { pageOf, scrollTo, targetOf, useAnchor, useRoving } from "../view/focus";
import { useVirtual } from "../view/timeline/scroll";
import { type EditKind, heldReading, heldWriting, RunEdit } from "./edit";
import { heldDeleting, RunRow } from "./row";

/** The heights of a line, of one in two lines, and of the head above: those of history.css. */
const LINE = 28;
const TWO_LINES = 48;
const HEAD = 28;

interface TableProps {
  model: Debugger;
  lines: readonly Run[];
  narrow: boolean;
  /** Whether something else stands in its place. */
  hidden: boolean;
}

export function Table({ model, lines, narrow, hidden }: TableProps) {
  const history = historyOf(model);
  const scroller = useRef<HTMLDivElement>(null);
  const [edit, setEdit] = useState<{ run: string; kind: EditKind } | null>(null);
  const height = narrow ? TWO_LINES : LINE;
  const head = narrow ? 0 : HEAD;
  const { at, setActive } = useActive(model, lines);
  const indexes = useVirtual({ scroller, count: lines.length, active: at, height });
  useAnchor(
    scroller,
    lines,
    ({ id }) => id,
    height,
    `${JSON.stringify(history.filter.value)} ${order(model)}`,
  );
  const focus = useFocus(scroller, lines, (index) => scrollTo(scroller, index, height, head));
  useSummons(model, (run) => {
    setEdit(null);
    setActive(run);
    focus(run);
  });

  const go = (index: number) => {
    const run = lines[Math.min(lines.length - 1, Math.max(0, index))];
    if (!run) return;
    setActive(run.id);
    focus(run.id);
  };
  const begin = (run: Run, kind: EditKind) => {
    setActive(run.id);
    if (heldEdit(model, run, kind) === null) setEdit({ run: run.id, kind });
  };
  const end = () => {
    setEdit(null);
    const active = lines[at];
    if (active) focus(active.id);
  };
  const onFocusIn = ({ target }: FocusEvent) => {
    const run = rowOf(target)?.dataset.run;
    if (run !== undefined) setActive(run);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const row = rowOf(event.target);
    const from = lines.findIndex(({ id }) => id === row?.dataset.run);
    const run = lines[from];
    if (!row || !run || event.altKey || event.ctrlKey || event.metaKey) return;
    const kind = EDITS[event.key];
    const to = targetOf(event.key, from, pageOf(scroller.current, height, 2));
    const by = SIDEWAYS[event.key];
    if (to !== undefined) go(to);
    else if (kind) begin(run, kind);
    else if (by) sideways(row, by);
    // A button takes its own keys.
    else if (event.key === "Enter" && event.target === row) void openRun(model, run.id);
    else if (event.key === " " && event.target === row) history.choose(run.id);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div
      ref={scroller}
      class="as-Scroll as-RunsTable"
      role="grid"
      aria-label="Runs"
      aria-rowcount={lines.length + 1}
      aria-multiselectable
      hidden={hidden}
      onFocusIn={onFocusIn}
      onKeyDown={onKeyDown}
    >
      {!narrow && <Head history={history} />}
      <div class="as-Rows" role="rowgroup" style={{ height: `${lines.length * height}px` }}>
        {indexes.map((index) => {
          const run = lines[index];
          if (!run) return null;
          const place = { run, index: index + 2, top: index * height };
          if (edit?.run === run.id)
            return <RunEdit key={run.id} model={model} kind={edit.kind} {...place} onDone={end} />;
          return (
            <RunRow
              key={run.id}
              model={model}
              {...place}
              active={index === at}
              chosen={history.chosen.value.includes(run.id)}
              narrow={narrow}
              onOpen={() => {
                setActive(run.id);
                void openRun(model, run.id);
              }}
              onChoose={() => {
                setActive(run.id);
                history.choose(run.id);
              }}
              onEdit={(kind) => begin(run, kind)}
            />
          );
        })}
      </div>
    </div>
  );
}

/** Show a run in its own tabs. */
export async function openRun(model: Debugger, run: string): Promise<void> {
  await model.openRun(run);
  if (model.run.peek()?.id === run) model.tab.value = "timeline"; // else the strip says why not
}

function order(model: Debugger): string {
  const { by, down } = historyOf(model).order.value;
  return `${by} ${down}`;
}

function rowOf(target: EventTarget | null): HTMLElement | null {
  return target instanceof Element ? target.closest<HTMLElement>(".as-RunRow") : null;
}

function heldEdit(model: Debugger, run: Run, kind: EditKind): string | null {
  if (kind === "export") return heldReading(model);
  return kind === "delete" ? heldDeleting(model, run) : heldWriting(model);
}

const EDITS: Record<string, EditKind> = { F2: "rename", t: "tags", Delete: "delete" };
const SIDEWAYS: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1 };

/** Left and Right lead from a line through what can be done with its run, and back. */
function sideways(row: Element, by: number): void {
  const stops = [row, ...row.querySelectorAll("button")] as HTMLElement[];
  const at = stops.indexOf(document.activeElement as HTMLElement);
  stops[Math.min(stops.length - 1, Math.max(0, at + by))]?.focus({ preventScroll: true });
}

// ---- The columns of the runs, and what the list can be sorted by.

const COLUMNS: readonly Column<RunColumn>[] = [
  { by: "name", label: "Run" },
  { by: "state", label: "State" },
  { by: null, label: "Tags" },
  { by: "started", label: "Started" },
  { by: "events", label: "Events", figure: true },
  { by: "tokens", label: "Tokens", figure: true },
  { by: "duration", label: "Duration", figure: true },
];

export function Head({ history }: { history: History }) {
  const roving = useRoving<HTMLDivElement>();
  return (
    <div class="as-ListHead as-RunsHead" role="row" aria-rowindex={1} {...roving}>
      <span role="columnheader">
        <span class="as-Hidden">Chosen to be compared</span>
      </span>
      <ColumnHeads {...sortingOf(history)} />
      <span role="columnheader">
        <span class="as-Hidden">What can be done</span>
      </span>
    </div>
  );
}

/** The same as a menu, in the list's narrow form. */
export function RunsOrder({ history }: { history: History }) {
  return (
    <span class="as-RunsOrder">
      <OrderMenu {...sortingOf(history)} />
    </span>
  );
}

function sortingOf(history: History) {
  return {
    columns: COLUMNS,
    order: history.order.value,
    sort: (by: RunColumn) => history.sort(by),
  };
}

// ---- Which line of the list is the active one, and when it is given the focus.

/** The line that keys go from. Where its run is gone it is the one that has its place. */
export function useActive(model: Debugger, lines: readonly Run[]) {
  const [active, setActive] = useState<string | null>(null);
  const last = useRef(0);
  const wanted = active ?? model.run.value?.id;
  const found = lines.findIndex(({ id }) => id === wanted);
  const at = found >= 0 ? found : Math.max(0, Math.min(last.current, lines.length - 1));
  last.current = at;
  return { at, setActive };
}

/** Give the focus to a run's line, once it is drawn. */
export function useFocus(
  scroller: { current: HTMLElement | null },
  lines: readonly Run[],
  show: (index: number) => void,
): (run: string) => void {
  const wanted = useRef<string | null>(null);
  const [, redraw] = useState({});
  useLayoutEffect(() => {
    if (wanted.current === null) return;
    const rows = scroller.current?.querySelectorAll<HTMLElement>(".as-RunRow") ?? [];
    const row = [...rows].find(({ dataset }) => dataset.run === wanted.current);
    if (!row) return;
    show(lines.findIndex(({ id }) => id === wanted.current));
    wanted.current = null;
    row.focus({ preventScroll: true });
  });
  return (run) => {
    wanted.current = run;
    redraw({});
  };
}

/** Hear of a run that was imported, and of the list's being asked for by its key. */
export function useSummons(model: Debugger, onSummons: (run: string) => void): void {
  const history = historyOf(model);
  const latest = useRef(onSummons);
  latest.current = onSummons;
  useSignalEffect(() => {
    const { value } = history.imported;
    if (!value) return;
    history.imported.value = null;
    history.narrow({ text: "", outcome: "", tag: "" });
    void history.search("");
    latest.current(value.run);
  });
  useSignalEffect(() => {
    if (!history.focused.value) return;
    history.focused.value = null;
    const run = model.run.peek() ?? model.runs.peek().at(-1);
    if (run) latest.current(run.id);
  });
}
