/** The runs as a grid, of which only the part in sight is in the document. */

import { useSignalEffect } from "@preact/signals";
import { useRef, useState } from "preact/hooks";
import { readOnlyReason } from "../model/controls";
import type { Debugger } from "../model/debugger";
import { type History, historyOf, type Column as RunColumn } from "../model/history";
import type { Run } from "../model/model";
import { consumeKey, useRovingTabIndex } from "../view/focus";
import { type Column, ColumnHeads, moveFocusSideways, SortMenu, useLines } from "../view/list";
import { type EditKind, exportDisabledReason, RunEdit } from "./edit";
import { deleteDisabledReason, RunRow } from "./row";

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
  const [edit, setEdit] = useState<{ run: string; kind: EditKind } | null>(null);
  const height = narrow ? TWO_LINES : LINE;
  const { scroller, at, indexes, setActive, focus, go, from, targetFrom, onFocusIn } = useLines({
    lines,
    idOf: ({ id }) => id,
    row: ".as-RunRow",
    data: "run",
    height,
    head: narrow ? 0 : HEAD,
    selected: model.run.value?.id,
    list: JSON.stringify([history.filter.value, history.order.value]),
  });
  useFocusRequests(model, (run) => {
    setEdit(null);
    setActive(run);
    focus(run);
  });

  const begin = (run: Run, kind: EditKind) => {
    setActive(run.id);
    if (editDisabledReason(model, run, kind) === null) setEdit({ run: run.id, kind });
  };
  const end = () => {
    setEdit(null);
    const active = lines[at];
    if (active) focus(active.id);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const there = from(event);
    if (!there || event.altKey || event.ctrlKey || event.metaKey) return;
    const { element, line: run, index } = there;
    const kind = EDITS[event.key];
    const to = targetFrom(event.key, index);
    if (to !== undefined) go(to);
    else if (kind) begin(run, kind);
    else if (moveFocusSideways(element, event.key)) return consumeKey(event);
    // A button takes its own keys.
    else if (event.key === "Enter" && event.target === element) void openRun(model, run.id);
    else if (event.key === " " && event.target === element) history.choose(run.id);
    else return;
    consumeKey(event);
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

function editDisabledReason(model: Debugger, run: Run, kind: EditKind): string | null {
  if (kind === "export") return exportDisabledReason(model);
  return kind === "delete" ? deleteDisabledReason(model, run) : readOnlyReason(model);
}

const EDITS: Record<string, EditKind> = { F2: "rename", t: "tags", Delete: "delete" };
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
  const roving = useRovingTabIndex<HTMLDivElement>();
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
export function RunsSortMenu({ history }: { history: History }) {
  return (
    <span class="as-RunsOrder">
      <SortMenu {...sortingOf(history)} />
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

/** Hear of a run that was imported, and of the list's being asked for by its key. */
export function useFocusRequests(model: Debugger, onSummons: (run: string) => void): void {
  const history = historyOf(model);
  const latest = useRef(onSummons);
  latest.current = onSummons;
  useSignalEffect(() => {
    const { value } = history.imported;
    if (!value) return;
    history.imported.value = null;
    history.setFilter({ text: "", outcome: "", tag: "" });
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
