/** The buttons that step: into, over and out, and a menu of the steps to something. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon } from "../icons/icon";
import type { Controls } from "../model/controls";
import { isUsable } from "../model/controls";
import type { Debugger } from "../model/debugger";
import { rowOf } from "../model/rows";
import { goalLike, goalWords, OUT, OVER, type StepGoal, TO_QUERY, TO_TOOL } from "../model/steps";
import { Button } from "./button";
import { escapeInvisible } from "./format";
import { useOutsidePress, type ViewPlacement } from "./hooks";

interface StepButtonsProps {
  model: Debugger;
  place: ViewPlacement;
  controlStates: Controls;
}

export function StepButtons({ model, place, controlStates }: StepButtonsProps) {
  const drafted = model.hasDraft.value;
  const sends = drafted ? ", sending your edit" : "";
  const { primary: _, ...other } = controlStates.step;
  return (
    <>
      <Button
        {...(drafted ? {} : { icon: "into" })}
        name={drafted ? "Step with edit" : "Step"}
        hint={`${drafted ? "Step into, sending your edit" : "Step into: to the next event"} (F11)`}
        {...controlStates.step}
        onClick={() => void model.step()}
      >
        {drafted && <Icon name="into" class="as-x-narrow" />}
        {drafted && <Icon name="pencil" class="as-onlyNarrow" />}
        Step{drafted && <span class="as-x-narrow"> with edit</span>}
      </Button>
      <Button
        icon="over"
        name="Step over"
        hint={`Step over: run to the end of this event${sends} (F10)`}
        {...other}
        onClick={() => void model.step(OVER)}
      />
      <Button
        icon="out"
        name="Step out"
        hint={`Step out: run to the end of the event around this one${sends} (Shift+F11)`}
        {...other}
        onClick={() => void model.step(OUT)}
      />
      <StepMenuItem model={model} place={place} controlStates={controlStates} />
    </>
  );
}

// ---- The menu of the steps to something, under its button.

function StepMenuItem({ model, place, controlStates }: StepButtonsProps) {
  const open = place.overlay.value === "steps";
  const box = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const close = (focus: boolean) => {
    if (place.overlay.peek() === "steps") place.overlay.value = null;
    if (focus) button.current?.focus();
  };
  useOutsidePress(box, open, () => close(false));
  return (
    <div ref={box} class="as-StepMenuItem">
      <button
        ref={button}
        type="button"
        class="as-Button as-mod-icon"
        title="Run to an event"
        aria-label="Run to an event"
        aria-haspopup="menu"
        aria-expanded={open}
        onClick={() => {
          place.overlay.value = open ? null : "steps";
        }}
      >
        <Icon name="down" small />
      </button>
      {open && <StepMenu model={model} controlStates={controlStates} onClose={() => close(true)} />}
    </div>
  );
}

interface StepMenuProps {
  model: Debugger;
  controlStates: Controls;
  onClose(): void;
}

function StepMenu({ model, controlStates, onClose }: StepMenuProps) {
  const box = useRef<HTMLDivElement>(null);
  const items = () => [...(box.current?.querySelectorAll<HTMLElement>("[role^=menuitem]") ?? [])];
  useLayoutEffect(() => {
    items().at(0)?.focus();
  }, []);
  const onKeyDown = (event: KeyboardEvent) => {
    const all = items();
    const at = all.indexOf(document.activeElement as HTMLElement);
    const to = MOVES[event.key]?.(at, all.length);
    if (event.key === "Escape") onClose();
    else if (to !== undefined) all[to]?.focus();
    else if (event.key !== "Enter" && event.key !== " ") return;
    else (document.activeElement as HTMLElement).click();
    event.preventDefault();
    event.stopPropagation();
  };
  const here = goalLike(rowOf(model.rows.value, model.selectedRow.value));
  const { disabledReason } = controlStates.to;
  const goTo = (goal: StepGoal | null) => () => {
    if (disabledReason || !goal) return;
    onClose();
    void model.step(goal);
  };
  const noRow = "Select an event of a query, a tool call or your own first";
  return (
    <div ref={box} class="as-StepMenu" role="menu" aria-label="Run to" onKeyDown={onKeyDown}>
      <Item
        label="Run to here"
        detail={here ? `next ${escapeInvisible(goalWords(here))}` : ""}
        chord="t"
        disabledReason={disabledReason ?? (here ? null : noRow)}
        onClick={goTo(here)}
      />
      <Item label="Next query" disabledReason={disabledReason} onClick={goTo(TO_QUERY)} />
      <Item label="Next tool" disabledReason={disabledReason} onClick={goTo(TO_TOOL)} />
      {model.hasParallelLanes.value && <Freeze model={model} />}
    </div>
  );
}

const MOVES: Record<string, (at: number, count: number) => number> = {
  ArrowDown: (at, count) => (at + 1) % count,
  ArrowUp: (at, count) => (at + count - 1) % count,
  Home: () => 0,
  End: (_, count) => count - 1,
};

interface ItemProps {
  label: string;
  detail?: string;
  chord?: string;
  disabledReason: string | null;
  onClick(): void;
}

function Item({ label, detail, chord, disabledReason, onClick }: ItemProps) {
  return (
    <button
      type="button"
      role="menuitem"
      tabIndex={-1}
      aria-disabled={disabledReason ? true : undefined}
      aria-keyshortcuts={chord}
      title={disabledReason ?? undefined}
      onClick={onClick}
    >
      <span class="as-Ellipsis">
        {label}
        {detail && <span class="as-Muted"> {detail}</span>}
      </span>
      {chord && <kbd class="as-Kbd">{chord}</kbd>}
    </button>
  );
}

/** Whether the other agents wait while one steps. */
function Freeze({ model }: { model: Debugger }) {
  const on = model.freezesOthers.value;
  return (
    <button
      type="button"
      role="menuitemcheckbox"
      class="as-StepMenu-switch"
      tabIndex={-1}
      aria-checked={on}
      title="While one agent steps, the others wait at their next event"
      onClick={() => {
        model.freezesOthers.value = !on;
      }}
    >
      <span class="as-Ellipsis">Freeze others</span>
      <span class="as-StepMenu-box">{on && <Icon name="tick" small />}</span>
    </button>
  );
}

// ---- The same menu at a row: by the right mouse button, or the keyboard's key for menus.

/** Opens at the rows of the element that it stands in. */
export function RowMenu({ model }: { model: Debugger }) {
  const [at, setAt] = useState<{ left: number; top: number } | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const close = () => {
    setAt(null);
    const view = box.current?.parentElement;
    view?.querySelector<HTMLElement>('.as-Row[tabindex="0"]')?.focus({ preventScroll: true });
  };
  useOutsidePress(box, at !== null, () => setAt(null));
  useEffect(() => {
    const view = box.current?.parentElement;
    const open = (event: MouseEvent) => {
      const id = (event.target as Element).closest<HTMLElement>(".as-Row[data-row]")?.dataset.row;
      const row = rowOf(model.rows.peek(), id ?? null);
      // With Shift the menu is the browser's.
      if (!view || !row || !goalLike(row) || event.shiftKey || !model.control.peek()) return;
      event.preventDefault();
      event.stopPropagation();
      model.select(row.id);
      const { left, top, width, height } = view.getBoundingClientRect();
      setAt({
        left: Math.max(0, Math.min(event.clientX - left, width - ROW_MENU_PX.width)),
        top: Math.max(0, Math.min(event.clientY - top, height - ROW_MENU_PX.height)),
      });
    };
    view?.addEventListener("contextmenu", open);
    return () => view?.removeEventListener("contextmenu", open);
  }, []);
  return (
    <div
      ref={box}
      class="as-RowMenu"
      style={at ? `left: ${at.left}px; top: ${at.top}px` : "display: none"}
    >
      {at && <StepMenu model={model} controlStates={model.controlStates.value} onClose={close} />}
    </div>
  );
}

/** What a menu takes at most: it stays inside the view. */
const ROW_MENU_PX = { width: 220, height: 140 };

/** Over a row's figure while it is pointed at; the key `t` does the same for the selected one. */
export function RunToHere({ seq, onRunTo }: { seq: number; onRunTo(): void }) {
  return (
    <button
      type="button"
      class="as-Row-act as-mod-second"
      title="Run to here: to the next event like this (t)"
      aria-label={`Run to the next event like ${seq}`}
      tabIndex={-1}
      onClick={(event) => {
        event.stopPropagation();
        onRunTo();
      }}
    >
      <Icon name="to" small />
    </button>
  );
}

/** Run to the next event like the selected one. */
export function runToSelected(model: Debugger): void {
  const goal = goalLike(rowOf(model.rows.peek(), model.selectedRow.peek()));
  if (goal && isUsable(model.controlStates.peek().to)) void model.step(goal);
}
