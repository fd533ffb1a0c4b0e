/** The run switcher: a button with the run's name, and under it the list of runs. */
import { useEffect, useRef } from "preact/hooks";
import { Icon } from "../../icons/icon";
import type { Debugger } from "../../model/debugger";
import type { Place } from "../place";
import { visible } from "../visible";
import { RunList } from "./list";

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
  const name = visible(model.run.value?.name ?? "Choose a run");
  return (
    <div ref={box} class="as-RunPicker">
      <button
        ref={button}
        type="button"
        class="as-Button as-Run"
        title={`${name}: choose a run (r)`}
        aria-haspopup="dialog"
        aria-expanded={open}
        onClick={() => {
          place.overlay.value = open ? null : "runs";
        }}
      >
        <span class="as-Ellipsis">{name}</span>
        <Icon name="down" small />
      </button>
      {open && <RunList model={model} onClose={() => close(true)} />}
    </div>
  );
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
