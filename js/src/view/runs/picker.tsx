/** The run switcher: a button with the run's name, and under it the list of runs. */
import { useEffect, useRef } from "preact/hooks";
import { Icon } from "../../icons/icon";
import { stateIfHere } from "../../model/controls";
import type { Debugger } from "../../model/debugger";
import type { Run } from "../../model/model";
import type { Place } from "../hooks";
import { lazy, withStyles } from "../lazy";
import { visible } from "../words";
import type { ListProps } from "./list";

// ---- The list of runs under its button, a chunk of its own.

export const RunList = lazy<ListProps>(async () => {
  const { RunList, styles } = await import("./list");
  return withStyles(RunList, "picker", styles);
});

interface PickerProps {
  model: Debugger;
  place: Place;
}

export function RunPicker({ model, place }: PickerProps) {
  const open = place.overlay.value === "runs";
  const box = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const close = (focus: boolean) => {
    if (place.overlay.peek() === "runs") place.overlay.value = null;
    if (focus) button.current?.focus();
  };
  useOutside(box, open, () => close(false));
  if (model.runs.value.length === 0) return null;
  const name = visible(model.run.value?.name ?? "All runs");
  const others = othersHalted(model.runs.value, model.run.value);
  return (
    <div ref={box} class="as-RunPicker">
      <button
        ref={button}
        type="button"
        class="as-Button as-Run"
        title={[`${name}: choose a run`, others].filter(Boolean).join("\n")}
        aria-haspopup="dialog"
        aria-expanded={open}
        onClick={() => {
          place.overlay.value = open ? null : "runs";
        }}
      >
        <span class="as-Ellipsis">{name}</span>
        <Icon name="down" small />
        {others && (
          <span class="as-Run-others">
            <span class="as-Hidden">{`, ${others}`}</span>
          </span>
        )}
      </button>
      {open && <RunList model={model} onClose={() => close(true)} />}
    </div>
  );
}

/** Which other runs wait for the person, in words; "" where none does. */
function othersHalted(runs: readonly Run[], shown: Run | null): string {
  const halted = runs.filter((run) => stateIfHere(run) === "halted" && run.id !== shown?.id).length;
  if (halted === 0) return "";
  return halted === 1 ? "1 other run is halted" : `${halted} other runs are halted`;
}

/** Call back when the person presses or goes elsewhere. */
function useOutside(box: { current: HTMLElement | null }, on: boolean, leave: () => void): void {
  useEffect(() => {
    if (!on) return;
    const check = (event: Event) => {
      if (event.target instanceof Node && !box.current?.contains(event.target)) leave();
    };
    document.addEventListener("pointerdown", check, true);
    document.addEventListener("focusin", check, true);
    return () => {
      document.removeEventListener("pointerdown", check, true);
      document.removeEventListener("focusin", check, true);
    };
  }, [on]);
}
