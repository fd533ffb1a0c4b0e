/** All stops as a grid: one tab stop, gone through with the arrow keys. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { barred } from "../model/controls";
import type { Debugger } from "../model/debugger";
import type { Problem } from "../model/model";
import { stopWords } from "../model/stops";
import type { BreakpointRule } from "../protocol/types.gen";
import { Button } from "../view/button";
import { move, used } from "../view/focus";
import { rowOf, sideways } from "../view/list";
import { copyOf, draftOf } from "./draft";
import { StopRow } from "./row";

interface TableProps {
  model: Debugger;
  narrow: boolean;
  /** The stop whose row is to take the focus; a new object each time. */
  summoned: { stop: string } | null;
  onProblem(problem: Problem | null): void;
}

export function Table({ model, narrow, summoned, onProblem }: TableProps) {
  const grid = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState<string | null>(null);
  const [deleting, setDeleting] = useState<string | null>(null);
  const { stops } = model;
  const lines = ordered(stops.all.value, stops.isFor);
  const at = Math.max(
    0,
    lines.findIndex(({ id }) => id === active),
  );
  const focus = useFocus(grid, setActive);
  useEffect(() => {
    if (summoned) focus(summoned.stop);
  }, [summoned]);

  const carry = async (order: Promise<Problem | null>) => onProblem(await order);
  const acts = (stop: BreakpointRule) => ({
    onSwitch: () => void carry(stops.set({ ...stop, enabled: !stop.enabled })),
    onEdit: () => {
      stops.draft.value = draftOf(stop);
      focusBar(grid.current);
    },
    onCopy: () => {
      stops.draft.value = copyOf(stop);
      focusBar(grid.current);
    },
    onDelete: () => setDeleting(stop.id),
  });
  const onKeyDown = (event: KeyboardEvent) => {
    const row = rowOf(event.target, ".as-StopRow");
    const from = lines.findIndex(({ id }) => id === row?.dataset.stop);
    const stop = lines[from];
    if (!row || !stop || event.altKey || event.ctrlKey || event.metaKey) return;
    const to = move(event.key, from, lines.length);
    const act = event.target === row || event.key === "Delete" ? KEYS[event.key] : undefined;
    if (to !== undefined) focus(lines[to]?.id ?? stop.id);
    else if (sideways(row, event.key)) return used(event);
    else if (act && barred(model) === null) acts(stop)[act]();
    else return;
    used(event);
  };
  return (
    <div
      ref={grid}
      class="as-Scroll as-StopsTable"
      role="grid"
      aria-label="Stops"
      aria-rowcount={lines.length + 1}
      onFocusIn={({ target }) => setActive(rowOf(target, ".as-StopRow")?.dataset.stop ?? active)}
      onKeyDown={onKeyDown}
    >
      {!narrow && <Head />}
      <div role="rowgroup">
        {lines.map((stop, index) =>
          stop.id === deleting ? (
            <Deleting
              key={stop.id}
              model={model}
              stop={stop}
              index={index + 2}
              onProblem={onProblem}
              onDone={(kept) => {
                setDeleting(null);
                focus(kept ? stop.id : (lines[index + 1] ?? lines[index - 1])?.id);
              }}
            />
          ) : (
            <StopRow
              key={stop.id}
              model={model}
              stop={stop}
              index={index + 2}
              active={index === at}
              edited={stops.draft.value?.id === stop.id}
              narrow={narrow}
              {...acts(stop)}
            />
          ),
        )}
      </div>
    </div>
  );
}

const KEYS: Record<string, "onSwitch" | "onEdit" | "onDelete"> = {
  " ": "onSwitch",
  Enter: "onEdit",
  F2: "onEdit",
  Delete: "onDelete",
};
/** Those for the shown run first; else as they were made. */
function ordered(
  stops: readonly BreakpointRule[],
  isFor: (stop: BreakpointRule) => boolean,
): BreakpointRule[] {
  return stops.toSorted((a, b) => Number(isFor(b)) - Number(isFor(a)));
}

function Head() {
  return (
    <div class="as-StopsHead" role="row" aria-rowindex={1}>
      <span role="columnheader">On</span>
      <span role="columnheader">Where</span>
      <span role="columnheader">Condition</span>
      <span role="columnheader">Then</span>
      <span role="columnheader" class="as-StopRow-figure">
        Hits
      </span>
      <span role="columnheader">Last hit</span>
      <span role="columnheader" class="as-Hidden">
        Edit, copy, delete
      </span>
    </div>
  );
}

interface DeletingProps {
  model: Debugger;
  stop: BreakpointRule;
  index: number;
  onProblem(problem: Problem | null): void;
  onDone(kept: boolean): void;
}

/** In the stop's own place; the answer that changes nothing has the focus. */
function Deleting({ model, stop, index, onProblem, onDone }: DeletingProps) {
  const cell = useRef<HTMLSpanElement>(null);
  const [sent, setSent] = useState(false);
  useLayoutEffect(() => cell.current?.querySelector<HTMLElement>("button:last-child")?.focus(), []);
  const remove = async () => {
    setSent(true);
    const problem = await model.stops.delete(stop.id);
    onProblem(problem);
    if (!problem && model.stops.draft.peek()?.id === stop.id) model.stops.draft.value = null;
    onDone(problem !== null);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    event.stopPropagation(); // neither the list's keys nor the view's
    if (event.key !== "Escape") return;
    onDone(true);
    event.preventDefault();
  };
  return (
    <div class="as-StopsEdit" role="row" aria-rowindex={index} onKeyDown={onKeyDown}>
      <span ref={cell} class="as-StopsEdit-cell" role="gridcell">
        <span class="as-StopsEdit-words">
          Delete <bdi>{stopWords(stop)}</bdi>? It can’t be brought back.
        </span>
        <Button
          outline
          class="as-mod-danger"
          hint="Delete this stop for good"
          held={sent ? "It is being deleted" : null}
          onClick={() => void remove()}
        >
          Delete
        </Button>
        <Button outline hint="Keep the stop (Esc)" onClick={() => onDone(true)}>
          Keep
        </Button>
      </span>
    </div>
  );
}

/** Into the bar, once it shows the stop. */
function focusBar(grid: HTMLElement | null): void {
  const pane = grid?.closest(".as-Stops");
  requestAnimationFrame(() => pane?.querySelector<HTMLElement>(".as-StopBar-condition")?.focus());
}

/** Gives the focus to a stop's row once it is drawn. */
function useFocus(grid: { current: HTMLElement | null }, setActive: (stop: string) => void) {
  const wanted = useRef<string | null>(null);
  const give = () => {
    const rows = [...(grid.current?.querySelectorAll<HTMLElement>(".as-StopRow") ?? [])];
    const row = rows.find(({ dataset }) => dataset.stop === wanted.current);
    if (!row) return;
    wanted.current = null;
    row.focus();
  };
  useLayoutEffect(give);
  return (stop: string | undefined) => {
    if (stop === undefined) return;
    wanted.current = stop;
    setActive(stop);
    give();
  };
}
