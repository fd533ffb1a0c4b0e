/** The list of sessions: its bar, its head, its rows, and the keys that move in it. */

import type { AgentState } from "../protocol/runtime.gen";
import { SearchField, Select } from "../view/fields";
import { consumeKey, useRovingTabIndex } from "../view/focus";
import { cx } from "../view/hooks";
import { type Column, ColumnHeads, SortMenu, useLines } from "../view/list";
import type { SessionsModel } from "./model";
import { SessionRow } from "./row";
import {
  type SessionActionKind,
  type Column as SessionColumn,
  STATUSES,
  type StateFilter,
} from "./status";

const STATES: readonly (readonly [StateFilter, string])[] = [
  ["", "All states"],
  ["live", "Not ended"],
  ...Object.entries(STATUSES).map(([status, { words }]) => [status as StateFilter, words] as const),
];

interface FilterBarProps {
  model: SessionsModel;
  narrow: boolean;
  /** The sessions that are listed. */
  ids: readonly string[];
}

export function FilterBar({ model, narrow, ids }: FilterBarProps) {
  return (
    <div class={cx("as-PaneBar as-SessBar", narrow && "as-mod-narrow")}>
      {narrow && <ChooseAllCheckbox model={model} ids={ids} />}
      <SearchField
        type="search"
        field="as-SessSearch"
        label="Show only sessions that contain this text"
        placeholder="Agent, session, last words"
        value={model.filter.value.text}
        onText={(text) => model.updateFilter({ text })}
        onKeyDown={(event) => {
          if (event.key !== "Escape" || model.filter.peek().text === "") return;
          model.updateFilter({ text: "" });
          event.stopPropagation();
        }}
      />
      <Select
        label="Show only sessions in this state"
        value={model.filter.value.state}
        options={STATES}
        onChange={(state) => model.updateFilter({ state })}
      />
      {narrow && <SessionsSortMenu model={model} />}
    </div>
  );
}

// ---- The sessions as a grid, of which only the part in sight is in the document.

/** The heights of a line, of one in two lines, and of the head above: those of sessions.css. */
const LINE = 28;
const TWO_LINES = 46;
const HEAD = 28;

interface SessionTableProps {
  model: SessionsModel;
  lines: readonly AgentState[];
  narrow: boolean;
  onOpen(state: AgentState): void;
}

export function SessionTable({ model, lines, narrow, onOpen }: SessionTableProps) {
  const height = narrow ? TWO_LINES : LINE;
  const selected = model.sessionTopic.id.value ?? undefined;
  const { scroller, at, indexes, setActive, go, from, targetFrom, onFocusIn } = useLines({
    lines,
    idOf: ({ session_id }) => session_id,
    row: ".as-SessRow",
    data: "session",
    height,
    head: narrow ? 0 : HEAD,
    selected,
    list: JSON.stringify([model.filter.value, model.sorting.value]),
  });
  const ids = lines.map(({ session_id }) => session_id);
  const under = model.actions.pending.value;
  const chosen = model.chosen.value;

  const select = (id: string) => {
    setActive(id);
    model.select(id);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const there = from(event);
    const act = there && keyAction(event, targetFrom(event.key, there.index));
    if (!act) return;
    consumeKey(event);
    runKeyAction(act, there.line);
  };
  const runKeyAction = (act: KeyAction, state: AgentState) => {
    if (act.kind === "go") go(act.to);
    else if (act.kind === "choose") model.toggleChosen(state.session_id);
    else if (act.kind === "all") model.setChosen(ids);
    else if (act.kind === "none") model.setChosen([]);
    else select(state.session_id); // actions are for what is selected
    if (act.kind === "open") onOpen(state);
    if (act.kind === "action") model.sendAction(act.action);
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
      {!narrow && <SessionTableHead model={model} ids={ids} />}
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
              pendingAction={under.get(id)}
              onSelect={() => select(id)}
              onChoose={() => {
                setActive(id);
                model.toggleChosen(id);
              }}
            />
          );
        })}
      </div>
    </div>
  );
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

export function SessionTableHead({ model, ids }: HeadProps) {
  const roving = useRovingTabIndex<HTMLDivElement>();
  return (
    <div class="as-ListHead as-SessHead" role="row" aria-rowindex={1} {...roving}>
      <span class="as-SessRow-pick" role="columnheader">
        <ChooseAllCheckbox model={model} ids={ids} />
      </span>
      <ColumnHeads {...sortingOf(model)} />
    </div>
  );
}

/** Choose all that are listed, or none. */
export function ChooseAllCheckbox({ model, ids }: HeadProps) {
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
      onChange={() => model.setChosen(all ? [] : ids)}
    />
  );
}

/** The same as a menu, in the list's narrow form. */
export function SessionsSortMenu({ model }: { model: SessionsModel }) {
  return <SortMenu {...sortingOf(model)} />;
}

function sortingOf(model: SessionsModel) {
  return {
    columns: COLUMNS,
    order: model.sorting.value,
    sort: (by: SessionColumn) => model.sort(by),
  };
}

// ---- What a key means in the list of sessions. Pure.

export type KeyAction =
  | { kind: "go"; to: number }
  | { kind: "select" | "choose" | "all" | "none" | "open" }
  | { kind: "action"; action: SessionActionKind };

const ACTION_KEYS: Record<string, SessionActionKind> = {
  p: "pause",
  r: "resume",
  i: "interrupt",
  s: "input",
  Delete: "destroy",
};
const LIST_KEYS: Record<string, "select" | "choose" | "none" | "open"> = {
  Enter: "select",
  " ": "choose",
  Escape: "none",
  o: "open",
};

type Key = Pick<KeyboardEvent, "key" | "altKey" | "ctrlKey" | "metaKey">;

/** @param to The index of the line that the key leads to, where it is one that moves. */
export function keyAction(
  { key, altKey, ctrlKey, metaKey }: Key,
  to: number | undefined,
): KeyAction | null {
  if (altKey) return null;
  if (ctrlKey || metaKey) return key.toLowerCase() === "a" ? { kind: "all" } : null;
  if (to !== undefined) return { kind: "go", to };
  const action = ACTION_KEYS[key];
  if (action) return { kind: "action", action };
  const kind = LIST_KEYS[key];
  return kind ? { kind } : null;
}
