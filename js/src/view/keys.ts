/** The keys of the view. They act only while the focus is inside it, and leave text fields alone. */

import { useEffect } from "preact/hooks";
import { addBreakpointLike } from "../model/breakpoints";
import { canDeny, isStepping, isUsable } from "../model/controls";
import type { Debugger } from "../model/debugger";
import type { Tab, TimelineRow } from "../model/model";
import { rowOf } from "../model/rows";
import { INTO, OUT, OVER, type StepGoal } from "../model/steps";
import { isInSight } from "./focus";
import type { ViewPlacement } from "./hooks";
import { runToSelected } from "./step_buttons";
import { TABS } from "./tab_labels";

type Act = (model: Debugger, place: ViewPlacement, root: HTMLElement) => void;

/** As in JupyterLab's debugger; in text fields too. */
const FUNCTION_KEYS: Record<string, Act> = {
  F6: (model) => isUsable(model.controlStates.peek().halt) && void model.halt(),
  "Shift+F9": (model) => isUsable(model.controlStates.peek().stop) && void model.stop(),
};

/** The same, while the agent is halted or steps: else F11 is the browser's, say. */
const STEP_KEYS: Record<string, Act> = {
  F9: (model) => isUsable(model.controlStates.peek().resume) && void model.resume(),
  F10: step(OVER),
  F11: step(INTO),
  "Shift+F11": step(OUT),
};

function step(goal: StepGoal): Act {
  return (model) => {
    if (isUsable(model.controlStates.peek().step)) void model.step(goal);
  };
}

const LETTERS: Record<string, Act> = {
  "/": (model, _, root) => {
    if (model.tab.peek() !== "runs") model.tab.value = "timeline";
    const field = model.tab.peek() === "runs" ? ".as-RunsSearch" : ".as-Filter";
    requestAnimationFrame(() => root.querySelector<HTMLElement>(field)?.focus());
  },
  e: (model) => {
    if (toTarget(model)) model.editing.value = true;
  },
  d: (model) => {
    const target = toTarget(model);
    if (target && canDeny(target)) model.denying.value = target.id;
  },
  o: (model) => {
    model.showOriginal.value = !model.showOriginal.value;
  },
  r: (model) => {
    model.tab.value = "runs";
    model.historyOptions.focused.value = {};
  },
  ...Object.fromEntries(TABS.map((tab, at) => [at + 1, toTab(tab)])),
  s: (model) => {
    const row = rowOf(model.rows.peek(), model.selectedRow.peek());
    const canAdd = model.control.peek() && model.tab.peek() === "timeline";
    if (row?.side && canAdd) addBreakpointLike(model, row);
  },
  t: (model) => runToSelected(model),
  n: (model) => editNote(model),
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
  place: ViewPlacement,
  root: HTMLElement,
): void {
  const act = actOf(event, model, place, root);
  if (!act) return;
  event.preventDefault();
  event.stopPropagation();
  act(model, place, root);
}

function actOf(
  event: KeyboardEvent,
  model: Debugger,
  place: ViewPlacement,
  root: HTMLElement,
): Act | null {
  if (event.isComposing) return null;
  if (event.ctrlKey || event.metaKey) return isFind(event) ? find : null;
  if (event.altKey) return chordOf(event);
  const name = event.shiftKey && event.key.length > 1 ? `Shift+${event.key}` : event.key;
  const always = FUNCTION_KEYS[name] ?? (isStepping(model.run.peek()) && STEP_KEYS[name]);
  if (always) return always;
  if (event.key === "Escape") return back(event, model, place, root);
  if (isTextField(event.target)) return null;
  return opensEditor(model, root) ? () => undefined : (LETTERS[name] ?? null);
}

/** What Alt and a key do: the digits in text fields too, where the letters would write on a Mac. */
function chordOf(event: KeyboardEvent): Act | null {
  // By its place on the keyboard: with Alt it may write another character.
  const digit = /^Digit([1-6])$/.exec(event.code)?.[1];
  if (digit) return LETTERS[digit] ?? null;
  if (event.shiftKey || isTextField(event.target)) return null;
  const act = ANSWERS[letterOf(event)];
  // A key that is held down answers nothing: the next question may stand there by then.
  return act && event.repeat ? () => undefined : (act ?? null);
}

/** What the letters a and y write with Option, on a Mac. */
const OPTION: Record<string, string> = { å: "a", æ: "a", "¥": "y", Ú: "y" };

/** The Latin letter of a chord, also on keyboards that have none. */
function letterOf({ key, code }: KeyboardEvent): string {
  const letter = OPTION[key] ?? key.toLowerCase();
  return /^[a-z]$/.test(letter) ? letter : code.replace("Key", "").toLowerCase();
}

/** Press a button that answers an approval; where the person doesn't see it, lead there instead. */
function answer(selector: string): Act {
  return (model, _, root) => {
    const target = model.target.peek();
    if (!target?.approval || !model.control.peek()) return;
    const button = root.querySelector<HTMLElement>(selector);
    // The button knows what is ticked beside it, and whether it is possible.
    const question = button?.closest(".as-Asks")?.querySelector("p");
    const seen = button && question && isInSight(button) && isInSight(question);
    if (model.isShown(target) && seen) button.click();
    else model.focusQuestion(target);
  };
}

/** Approving has keys of its own; no letter alone does it, which may be JupyterLab's a moment before. */
const ANSWERS: Record<string, Act> = { a: answer(".as-Approve"), y: answer(".as-Confirm-yes") };

/** Whether the editor was asked for and isn't here yet: what is typed is meant for it. */
function opensEditor(model: Debugger, root: HTMLElement): boolean {
  if (!model.editing.peek()) return false;
  const pane = root.querySelector(".as-Inspector");
  // Where it can't be loaded, that is said in its place.
  return !pane?.querySelector(".as-Edit, .as-Empty");
}

/** Ctrl+F; the editor has a search of its own. */
function isFind({ key, altKey, shiftKey, target }: KeyboardEvent): boolean {
  if (key.toLowerCase() !== "f" || altKey || shiftKey) return false;
  return !(target instanceof Element && target.closest(".cm-editor"));
}

/** Find in the shown run. */
function find(model: Debugger): void {
  model.tab.value = "timeline";
  model.searchRequest.value = {};
}

/** Esc: close what lies over the view, else leave the field, else the editor. */
function back(
  event: KeyboardEvent,
  model: Debugger,
  place: ViewPlacement,
  root: HTMLElement,
): Act | null {
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
function toTarget(model: Debugger): TimelineRow | null {
  const target = model.target.peek();
  if (!target || !model.control.peek()) return null;
  if (model.selectedRow.peek() !== target.id) model.reveal(target.id);
  model.tab.value = "timeline";
  model.selectedFile.value = null;
  return target;
}

/** Write beside the selected row. */
function editNote(model: Debugger): void {
  const row = model.selectedRow.peek();
  if (row === null || !model.control.peek() || model.tab.peek() !== "timeline") return;
  model.selectedFile.value = null;
  model.notes.writing.value = row;
}

// ---- Which keys are JupyterLab's while the focus is in a view. Keys that write or move stay out of its
// hands: `x` would cut the cell. Its chords go on working: Ctrl+S saves the notebook.

const MARK = "data-lm-suppress-shortcuts";

/** Chords that write nothing, so that they are JupyterLab's in text fields too: save, side bar, palette. */
const EVERYWHERE = new Set(["s", "b", "shift+c"]);

/** Let JupyterLab have its keys, and no others, while the focus is in a view. */
export function useSharedKeys(root: { current: HTMLElement | null }): void {
  useEffect(() => (root.current ? shareKeys(root.current) : undefined), []);
}

function shareKeys(root: HTMLElement): () => void {
  // On the window: before JupyterLab, which listens at the document, looks for its mark.
  const onKeyDown = (event: KeyboardEvent) => {
    const { target } = event;
    if (!(target instanceof Element) || !root.contains(target)) return;
    const keep = !isJupyters(event, isTextField(target));
    // On all from the focus up: its selectors match the focused element first.
    for (let each: Element | null = target; each; each = each.parentElement) {
      each.toggleAttribute(MARK, keep);
      if (each === root) break;
    }
  };
  window.addEventListener("keydown", onKeyDown, { capture: true });
  return () => window.removeEventListener("keydown", onKeyDown, { capture: true });
}

function isJupyters({ key, ctrlKey, metaKey, shiftKey }: KeyboardEvent, inField: boolean): boolean {
  if (!ctrlKey && !metaKey) return key === "Enter" && shiftKey && !inField;
  const chord = `${shiftKey ? "shift+" : ""}${key.toLowerCase()}`;
  return inField ? EVERYWHERE.has(chord) : chord !== "f"; // which finds in the run
}

/** Whether keys write where the focus is. */
export function isTextField(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.matches("input, textarea, select") || target.isContentEditable;
}
