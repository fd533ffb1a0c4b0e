/** The keys of the view. They act only while the focus is inside it, and leave text fields alone. */
import { controls } from "../model/controls";
import type { Debugger } from "../model/debugger";
import type { Place } from "./place";

type Act = (model: Debugger, place: Place, root: HTMLElement) => void;

/** As in JupyterLab's debugger; in text fields too. */
const FUNCTION_KEYS: Record<string, Act> = {
  F10: (model) => possible(model).step.held === null && void model.step(),
  F9: (model) => possible(model).resume.held === null && void model.resume(),
  F6: (model) => possible(model).halt.held === null && void model.halt(),
  "Shift+F9": (model) => possible(model).stop?.held === null && void model.stop(),
};

const LETTERS: Record<string, Act> = {
  "/": (model, _, root) => {
    if (model.tab.peek() !== "runs") model.tab.value = "timeline";
    const field = model.tab.peek() === "runs" ? ".as-RunsSearch" : ".as-Filter";
    requestAnimationFrame(() => root.querySelector<HTMLElement>(field)?.focus());
  },
  e: (model) => edit(model),
  o: (model) => {
    model.showOriginal.value = !model.showOriginal.value;
  },
  r: (model) => {
    model.tab.value = "runs";
    model.history.focused.value = {};
  },
  "1": (model) => {
    model.tab.value = "timeline";
  },
  "2": (model) => {
    model.tab.value = "changes";
  },
  "3": (model) => {
    model.tab.value = "runs";
  },
  n: (model) => writeNote(model),
  "?": (_, place) => {
    place.overlay.value = place.overlay.value === "keys" ? null : "keys";
  },
};

/** Take a key, if it is one of ours. */
export function onKey(
  event: KeyboardEvent,
  model: Debugger,
  place: Place,
  root: HTMLElement,
): void {
  const act = actOf(event, model, place, root);
  if (!act) return;
  event.preventDefault();
  event.stopPropagation();
  act(model, place, root);
}

function actOf(event: KeyboardEvent, model: Debugger, place: Place, root: HTMLElement): Act | null {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return null;
  const name = event.shiftKey && event.key.length > 1 ? `Shift+${event.key}` : event.key;
  const always = FUNCTION_KEYS[name];
  if (always) return always;
  if (event.key === "Escape") return back(event, model, place, root);
  return isTextField(event.target) ? null : (LETTERS[name] ?? null);
}

/** Esc: close what lies over the view, else leave the field, else the editor. */
function back(event: KeyboardEvent, model: Debugger, place: Place, root: HTMLElement): Act | null {
  if (place.overlay.value !== null) {
    return () => {
      place.overlay.value = null;
    };
  }
  if (!model.editing.value && !isTextField(event.target)) return null;
  return () => {
    model.editing.value = false;
    root.querySelector<HTMLElement>('.as-Row[tabindex="0"]')?.focus({ preventScroll: true });
  };
}

/** Edit the target: what `e` means wherever the person looks. */
function edit(model: Debugger): void {
  const target = model.target.peek();
  if (!target || !model.control.peek()) return;
  if (model.selectedRow.peek() !== target.id) model.reveal(target.id);
  model.tab.value = "timeline";
  model.selectedFile.value = null;
  model.editing.value = true;
}

/** Write beside the selected row. */
function writeNote(model: Debugger): void {
  const row = model.selectedRow.peek();
  if (row === null || !model.control.peek() || model.tab.peek() !== "timeline") return;
  model.selectedFile.value = null;
  model.notes.writing.value = row;
}

function possible(model: Debugger) {
  const connection = model.connection.peek();
  return controls({ connection, run: model.run.peek(), draftError: model.heldBy.peek() });
}

function isTextField(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.matches("input, textarea, select") || target.isContentEditable;
}
