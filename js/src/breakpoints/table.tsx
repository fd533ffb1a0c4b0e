/** All breakpoints as a grid: one tab stop, gone through with the arrow keys. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { breakpointText } from "../model/breakpoints";
import { readOnlyReason } from "../model/controls";
import type { Debugger } from "../model/debugger";
import type { Problem } from "../model/model";
import type { BreakpointRule } from "../protocol/types.gen";
import { Button } from "../view/button";
import { consumeKey, nextItemIndex } from "../view/focus";
import { moveFocusSideways, rowOf } from "../view/list";
import { copyAsDraft, draftFromBreakpoint } from "./draft";
import { BreakpointRow } from "./row";

interface TableProps {
  model: Debugger;
  narrow: boolean;
  /** The breakpoint whose row is to take the focus; a new object each time. */
  focusRequest: { breakpoint: string } | null;
  onProblem(problem: Problem | null): void;
}

export function Table({ model, narrow, focusRequest, onProblem }: TableProps) {
  const grid = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState<string | null>(null);
  const [deleting, setDeleting] = useState<string | null>(null);
  const { breakpoints } = model;
  const lines = ordered(breakpoints.all.value, breakpoints.appliesToRun);
  const at = Math.max(
    0,
    lines.findIndex(({ id }) => id === active),
  );
  const focus = useFocus(grid, setActive);
  useEffect(() => {
    if (focusRequest) focus(focusRequest.breakpoint);
  }, [focusRequest]);

  const report = async (order: Promise<Problem | null>) => onProblem(await order);
  const actions = (breakpoint: BreakpointRule) => ({
    onSwitch: () => void report(breakpoints.set({ ...breakpoint, enabled: !breakpoint.enabled })),
    onEdit: () => {
      breakpoints.draft.value = draftFromBreakpoint(breakpoint);
      focusBar(grid.current);
    },
    onCopy: () => {
      breakpoints.draft.value = copyAsDraft(breakpoint);
      focusBar(grid.current);
    },
    onDelete: () => setDeleting(breakpoint.id),
  });
  const onKeyDown = (event: KeyboardEvent) => {
    const row = rowOf(event.target, ".as-BreakpointRow");
    const from = lines.findIndex(({ id }) => id === row?.dataset.breakpoint);
    const breakpoint = lines[from];
    if (!row || !breakpoint || event.altKey || event.ctrlKey || event.metaKey) return;
    const to = nextItemIndex(event.key, from, lines.length);
    const act = event.target === row || event.key === "Delete" ? KEYS[event.key] : undefined;
    if (to !== undefined) focus(lines[to]?.id ?? breakpoint.id);
    else if (moveFocusSideways(row, event.key)) return consumeKey(event);
    else if (act && readOnlyReason(model) === null) actions(breakpoint)[act]();
    else return;
    consumeKey(event);
  };
  return (
    <div
      ref={grid}
      class="as-Scroll as-BreakpointsTable"
      role="grid"
      aria-label="Breakpoints"
      aria-rowcount={lines.length + 1}
      onFocusIn={({ target }) =>
        setActive(rowOf(target, ".as-BreakpointRow")?.dataset.breakpoint ?? active)
      }
      onKeyDown={onKeyDown}
    >
      {!narrow && <Head />}
      <div role="rowgroup">
        {lines.map((breakpoint, index) =>
          breakpoint.id === deleting ? (
            <DeleteConfirmation
              key={breakpoint.id}
              model={model}
              breakpoint={breakpoint}
              index={index + 2}
              onProblem={onProblem}
              onDone={(isKept) => {
                setDeleting(null);
                focus(isKept ? breakpoint.id : (lines[index + 1] ?? lines[index - 1])?.id);
              }}
            />
          ) : (
            <BreakpointRow
              key={breakpoint.id}
              model={model}
              breakpoint={breakpoint}
              index={index + 2}
              active={index === at}
              edited={breakpoints.draft.value?.id === breakpoint.id}
              narrow={narrow}
              {...actions(breakpoint)}
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
  breakpoints: readonly BreakpointRule[],
  isFor: (breakpoint: BreakpointRule) => boolean,
): BreakpointRule[] {
  return breakpoints.toSorted((a, b) => Number(isFor(b)) - Number(isFor(a)));
}

function Head() {
  return (
    <div class="as-BreakpointsHead" role="row" aria-rowindex={1}>
      <span role="columnheader">
        <span class="as-Hidden">Enabled</span>
      </span>
      <span role="columnheader">Where</span>
      <span role="columnheader">Condition</span>
      <span role="columnheader">Then</span>
      <span role="columnheader" class="as-BreakpointRow-figure">
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
  breakpoint: BreakpointRule;
  index: number;
  onProblem(problem: Problem | null): void;
  onDone(isKept: boolean): void;
}

/** In the breakpoint's own place; the answer that changes nothing has the focus. */
function DeleteConfirmation({ model, breakpoint, index, onProblem, onDone }: DeletingProps) {
  const cell = useRef<HTMLSpanElement>(null);
  const [sent, setSent] = useState(false);
  useLayoutEffect(() => cell.current?.querySelector<HTMLElement>("button:last-child")?.focus(), []);
  const remove = async () => {
    setSent(true);
    const problem = await model.breakpoints.delete(breakpoint.id);
    onProblem(problem);
    if (!problem && model.breakpoints.draft.peek()?.id === breakpoint.id)
      model.breakpoints.draft.value = null;
    onDone(problem !== null);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    event.stopPropagation(); // neither the list's keys nor the view's
    if (event.key !== "Escape") return;
    onDone(true);
    event.preventDefault();
  };
  return (
    <div class="as-BreakpointsEdit" role="row" aria-rowindex={index} onKeyDown={onKeyDown}>
      <span ref={cell} class="as-BreakpointsEdit-cell" role="gridcell">
        <span class="as-BreakpointsEdit-words">
          Delete <bdi>{breakpointText(breakpoint)}</bdi>? This can’t be undone.
        </span>
        <Button
          outline
          class="as-mod-danger"
          hint="Delete the breakpoint"
          disabledReason={sent ? "The breakpoint is being deleted" : null}
          onClick={() => void remove()}
        >
          Delete
        </Button>
        <Button outline hint="Keep the breakpoint (Esc)" onClick={() => onDone(true)}>
          Keep
        </Button>
      </span>
    </div>
  );
}

/** Into the bar, once it shows the breakpoint. */
function focusBar(grid: HTMLElement | null): void {
  const pane = grid?.closest(".as-Breakpoints");
  requestAnimationFrame(() =>
    pane?.querySelector<HTMLElement>(".as-BreakpointBar-condition")?.focus(),
  );
}

/** Gives the focus to a breakpoint's row once it is drawn. */
function useFocus(grid: { current: HTMLElement | null }, setActive: (breakpoint: string) => void) {
  const wanted = useRef<string | null>(null);
  const give = () => {
    const rows = [...(grid.current?.querySelectorAll<HTMLElement>(".as-BreakpointRow") ?? [])];
    const row = rows.find(({ dataset }) => dataset.breakpoint === wanted.current);
    if (!row) return;
    wanted.current = null;
    row.focus();
  };
  useLayoutEffect(give);
  return (breakpoint: string | undefined) => {
    if (breakpoint === undefined) return;
    wanted.current = breakpoint;
    setActive(breakpoint);
    give();
  };
}
