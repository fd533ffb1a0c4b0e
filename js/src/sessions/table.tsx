/** The sessions as a grid, of which only the part in sight is in the document. */
import { useRef } from "preact/hooks";
import type { AgentState } from "../protocol/runtime.gen";
import { pageOf, scrollTo, useAnchor } from "../view/list/moving";
import { useVirtual } from "../view/timeline/virtual";
import { useActive, useFocus } from "./focus";
import { Head } from "./head";
import { type KeyAct, keyAct } from "./keys";
import type { SessionsModel } from "./model";
import { SessionRow } from "./row";

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
