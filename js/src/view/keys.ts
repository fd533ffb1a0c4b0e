/** The keys of the view. They act only while the focus is inside it, and leave text fields alone. */
import { controls, deniable } from "../model/controls";
import type { Debugger } from "../model/debugger";
import { rowOf } from "../model/fold";
import type { Row, Tab } from "../model/model";
import { stopLike } from "../model/stops";
import { isTextField } from "./jupyter_keys";
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
  e: (model) => {
    if (toTarget(model)) model.editing.value = true;
  },
  a: (model, _, root) => {
    const target = model.target.peek();
    const seen = target !== null && model.shows(target);
    // The button knows what is ticked beside it, and whether it is possible.
    if (toTarget(model) && seen) root.querySelector<HTMLElement>(".as-Approve")?.click();
  },
  d: (model) => {
    const target = toTarget(model);
    if (target && deniable(target)) model.denying.value = target.id;
  },
  o: (model) => {
    model.showOriginal.value = !model.showOriginal.value;
  },
  r: (model) => {
    model.tab.value = "runs";
    model.looksBack.focused.value = {};
  },
  "1": toTab("timeline"),
  "2": toTab("changes"),
  "3": toTab("stops"),
  "4": toTab("runs"),
  s: (model) => {
    const row = rowOf(model.rows.peek(), model.selectedRow.peek());
    const possible = model.control.peek() && model.tab.peek() === "timeline";
    if (row?.side && possible) stopLike(model, row);
  },
  n: (model) => writeNote(model),
  "?": (_, place) => {
    place.overlay.value = place.overlay.value === "keys" ? null : "keys";
  },
};

function toTab(tab: Tab): Act {
  return (model) => {
    model.tab.value = tab;
  };
}

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
  if (event.isComposing) return null;
  if (event.ctrlKey || event.metaKey) return isFind(event) ? find : null;
  // By its place on the keyboard: with Alt it may write another character. In text fields too.
  if (event.altKey) return LETTERS[/^Digit([1-4])$/.exec(event.code)?.[1] ?? ""] ?? null;
  const name = event.shiftKey && event.key.length > 1 ? `Shift+${event.key}` : event.key;
  const always = FUNCTION_KEYS[name];
  if (always) return always;
  if (event.key === "Escape") return back(event, model, place, root);
  return isTextField(event.target) ? null : (LETTERS[name] ?? null);
}

/** Ctrl+F; the editor has a search of its own. */
function isFind({ key, altKey, shiftKey, target }: KeyboardEvent): boolean {
  if (key.toLowerCase() !== "f" || altKey || shiftKey) return false;
  return !(target instanceof Element && target.closest(".cm-editor"));
}

/** Find in the shown run. */
function find(model: Debugger): void {
  model.tab.value = "timeline";
  model.searched.value = {};
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

/** Go to the target, wherever the person looks; null where nothing may be done with it. */
function toTarget(model: Debugger): Row | null {
  const target = model.target.peek();
  if (!target || !model.control.peek()) return null;
  if (model.selectedRow.peek() !== target.id) model.reveal(target.id);
  model.tab.value = "timeline";
  model.selectedFile.value = null;
  return target;
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
