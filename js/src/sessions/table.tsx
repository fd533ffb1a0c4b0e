/** The list of sessions: its bar, its head, its rows, and the keys that move in it. */

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon } from "../icons/icon";
import type { AgentState } from "../protocol/runtime.gen";
import { type Column, ColumnHeads, OrderMenu } from "../view/columns";
import { pageOf, scrollTo, targetOf, useAnchor, useRoving } from "../view/focus";
import { cx } from "../view/hooks";
import { useVirtual } from "../view/timeline/scroll";
import type { SessionsModel } from "./model";
import { SessionRow } from "./row";
import { type Order, type Column as SessionColumn, STATUSES, type StateFilter } from "./status";

interface BarProps {
  model: SessionsModel;
  narrow: boolean;
  /** The sessions that are listed. */
  ids: readonly string[];
}

export function Bar({ model, narrow, ids }: BarProps) {
  return (
    <div class={cx("as-PaneBar as-SessBar", narrow && "as-mod-narrow")}>
      {narrow && <ChooseAll model={model} ids={ids} />}
      <label class="as-Search">
        <Icon name="search" small />
        <input
          type="search"
          class="as-Input as-SessSearch"
          placeholder="Agent, session, last words"
          aria-label="Show only sessions in which this stands"
          value={model.filter.value.text}
          onInput={({ currentTarget }) => model.narrow({ text: currentTarget.value })}
          onKeyDown={(event) => {
            if (event.key !== "Escape" || model.filter.peek().text === "") return;
            model.narrow({ text: "" });
            event.stopPropagation();
          }}
        />
      </label>
      <select
        class="as-Input as-Select"
        aria-label="Show only sessions in this state"
        value={model.filter.value.state}
        onChange={({ currentTarget }) =>
          model.narrow({ state: currentTarget.value as StateFilter })
        }
      >
        <option value="">All states</option>
        <option value="live">Not ended</option>
        {Object.entries(STATUSES).map(([status, { words }]) => (
          <option key={status} value={status}>
            {words}
          </option>
        ))}
      </select>
      {narrow && <SessionsOrder model={model} />}
    </div>
  );
}

// ---- The sessions as a grid, of which only the part in sight is in the document.

/** The heights of a line, of one in two lines, and of the head above: those of sessions.css. */
const LINE = 28;
const TWO_LINES = 46;
const HEAD = 28;

interface TableProps {
  model: SessionsModel;
  lines: readonly AgentState[];
  narrow: boolean;
  onOpen(state: AgentState): void;
}

export function Table({ model, lines, narrow, onOpen }: TableProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const height = narrow ? TWO_LINES : LINE;
  const head = narrow ? 0 : HEAD;
  const selected = model.followed.id.value;
  const { at, setActive } = useActive(lines, selected);
  const indexes = useVirtual({ scroller, count: lines.length, active: at, height });
  useAnchor(
    scroller,
    lines,
    ({ session_id }) => session_id,
    height,
    JSON.stringify([model.filter.value, model.order.value]),
  );
  const focus = useFocus(scroller, lines, (index) => scrollTo(scroller, index, height, head));
  const ids = lines.map(({ session_id }) => session_id);
  const under = model.orders.under.value;
  const chosen = model.chosen.value;

  const go = (index: number) => {
    const to = ids[Math.min(ids.length - 1, Math.max(0, index))];
    if (to === undefined) return;
    setActive(to);
    focus(to);
  };
  const select = (id: string) => {
    setActive(id);
    model.select(id);
  };
  const onFocusIn = ({ target }: FocusEvent) => {
    const id = rowOf(target)?.dataset.session;
    if (id !== undefined) setActive(id);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const row = rowOf(event.target);
    const state = lines.find(({ session_id }) => session_id === row?.dataset.session);
    if (!row || !state) return;
    const page = pageOf(scroller.current, height, 2);
    const act = keyAct(event, ids.indexOf(state.session_id), page);
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    carryOut(act, state);
  };
  const carryOut = (act: KeyAct, state: AgentState) => {
    if (act.kind === "go") go(act.to);
    else if (act.kind === "choose") model.choose(state.session_id);
    else if (act.kind === "all") model.chooseAll(ids);
    else if (act.kind === "none") model.chooseAll([]);
    else select(state.session_id); // orders are for what is selected
    if (act.kind === "open") onOpen(state);
    if (act.kind === "order") model.give(act.order);
  };
  return (
    <div
      ref={scroller}
      class="as-Scroll as-SessTable"
      role="grid"
      aria-label="Sessions"
      aria-rowcount={lines.length + 1}
      aria-multiselectable
      onFocusIn={onFocusIn}
      onKeyDown={onKeyDown}
    >
      {!narrow && <Head model={model} ids={ids} />}
      <div class="as-Rows" role="rowgroup" style={{ height: `${lines.length * height}px` }}>
        {indexes.map((index) => {
          const state = lines[index];
          if (!state) return null;
          const id = state.session_id;
          return (
            <SessionRow
              key={id}
              state={state}
              index={index + 2}
              top={index * height}
              active={index === at}
              current={id === selected}
              chosen={chosen.has(id)}
              narrow={narrow}
              under={under.get(id)}
              onSelect={() => select(id)}
              onChoose={() => {
                setActive(id);
                model.choose(id);
              }}
            />
          );
        })}
      </div>
    </div>
  );
}

function rowOf(target: EventTarget | null): HTMLElement | null {
  return target instanceof Element ? target.closest<HTMLElement>(".as-SessRow") : null;
}

// ---- The columns of the sessions, and what the list can be sorted by.

const COLUMNS: readonly Column<SessionColumn>[] = [
  { by: "state", label: "State" },
  { by: "agent", label: "Agent" },
  { by: "moniker", label: "Moniker" },
  { by: "iteration", label: "Steps", figure: true },
  { by: null, label: "Last words" },
  { by: "since", label: "Since", figure: true },
];

interface HeadProps {
  model: SessionsModel;
  /** The sessions that are listed. */
  ids: readonly string[];
}

export function Head({ model, ids }: HeadProps) {
  const roving = useRoving<HTMLDivElement>();
  return (
    <div class="as-ListHead as-SessHead" role="row" aria-rowindex={1} {...roving}>
      <span class="as-SessRow-pick" role="columnheader">
        <ChooseAll model={model} ids={ids} />
      </span>
      <ColumnHeads {...sortingOf(model)} />
    </div>
  );
}

/** Choose all that are listed, or none. */
export function ChooseAll({ model, ids }: HeadProps) {
  const chosen = model.chosen.value;
  const all = ids.length > 0 && ids.every((id) => chosen.has(id));
  return (
    <input
      type="checkbox"
      class="as-SessAll"
      checked={all}
      indeterminate={!all && chosen.size > 0}
      aria-label="Choose all that are listed"
      title="Choose all that are listed (Ctrl+A)"
      onChange={() => model.chooseAll(all ? [] : ids)}
    />
  );
}

/** The same as a menu, in the list's narrow form. */
export function SessionsOrder({ model }: { model: SessionsModel }) {
  return <OrderMenu {...sortingOf(model)} />;
}

function sortingOf(model: SessionsModel) {
  return {
    columns: COLUMNS,
    order: model.order.value,
    sort: (by: SessionColumn) => model.sort(by),
  };
}

// ---- What a key means in the list of sessions. Pure.

export type KeyAct =
  | { kind: "go"; to: number }
  | { kind: "select" | "choose" | "all" | "none" | "open" }
  | { kind: "order"; order: Order };

const ORDERS: Record<string, Order> = {
  p: "pause",
  r: "resume",
  i: "interrupt",
  s: "input",
  Delete: "destroy",
};
const ACTS: Record<string, "select" | "choose" | "none" | "open"> = {
  Enter: "select",
  " ": "choose",
  Escape: "none",
  o: "open",
};

type Key = Pick<KeyboardEvent, "key" | "altKey" | "ctrlKey" | "metaKey">;

/**
 * @param at The index of the line that has the focus.
 * @param page How many lines are in sight.
 */
export function keyAct(
  { key, altKey, ctrlKey, metaKey }: Key,
  at: number,
  page: number,
): KeyAct | null {
  if (altKey) return null;
  if (ctrlKey || metaKey) return key.toLowerCase() === "a" ? { kind: "all" } : null;
  const to = targetOf(key, at, page);
  if (to !== undefined) return { kind: "go", to };
  const order = ORDERS[key];
  if (order) return { kind: "order", order };
  const kind = ACTS[key];
  return kind ? { kind } : null;
}

// ---- Which line of the list the keys go from, and giving it the focus once it is drawn.

/** The active line. Where its session isn't listed any more it is the one that has its place. */
export function useActive(lines: readonly AgentState[], selected: string | null) {
  const [active, setActive] = useState<string | null>(null);
  const last = useRef(0);
  const wanted = active ?? selected;
  const found = lines.findIndex(({ session_id }) => session_id === wanted);
  const at = found >= 0 ? found : Math.max(0, Math.min(last.current, lines.length - 1));
  last.current = at;
  return { at, setActive };
}

/**
 * Give the focus to a session's line.
 *
 * @param show Scrolls so that the line of an index is in sight.
 */
export function useFocus(
  scroller: { current: HTMLElement | null },
  lines: readonly AgentState[],
  show: (index: number) => void,
): (session: string) => void {
  const wanted = useRef<string | null>(null);
  const [, redraw] = useState({});
  useLayoutEffect(() => {
    if (wanted.current === null) return;
    const rows = scroller.current?.querySelectorAll<HTMLElement>(".as-SessRow") ?? [];
    const row = [...rows].find(({ dataset }) => dataset.session === wanted.current);
    if (!row) return;
    show(lines.findIndex(({ session_id }) => session_id === wanted.current));
    wanted.current = null;
    row.focus({ preventScroll: true });
  });
  return (session) => {
    wanted.current = session;
    redraw({});
  };
}
