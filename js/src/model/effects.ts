/** What effect checks say of rows, without the checks that a person has hidden in this browser. */
import { computed, signal } from "@preact/signals";
import type { EffectMark, Repetition, TimelineRow } from "../protocol/types.gen";
import type { Debugger } from "./debugger";
import { browserStorage } from "./storage";

const KEY = "hidden-checks";
const memory = browserStorage();

const text = signal(memory.get(KEY) ?? "");
memory.watch((key) => {
  if (key === KEY) text.value = memory.get(KEY) ?? "";
});

/** The names of the checks whose marks aren't shown. */
export const hiddenChecks = computed<ReadonlySet<string>>(
  () => new Set(text.value.split(" ").filter(Boolean)),
);

/** Show a check's marks, or hide them. */
export function showCheck(name: string, shown: boolean): void {
  const hidden = new Set(hiddenChecks.peek());
  if (shown) hidden.delete(name);
  else hidden.add(name);
  text.value = [...hidden].sort().join(" ");
  memory.set(KEY, text.value);
}

export const shownMarks = (marks: readonly EffectMark[]): readonly EffectMark[] =>
  hiddenChecks.value.size === 0
    ? marks
    : marks.filter(({ check }) => !hiddenChecks.value.has(check));

export const marksOf = (row: TimelineRow): readonly EffectMark[] =>
  shownMarks(row.effects?.marks ?? []);

/** How many rows of the shown run are marked: where checks are hidden, of those that are here. */
export function markedCount(model: Pick<Debugger, "run" | "rows">): number {
  const counted = model.run.value?.effects?.rows ?? 0;
  if (counted === 0 || hiddenChecks.value.size === 0) return counted;
  return model.rows.value.filter((row) => marksOf(row).length > 0).length;
}

/** What a call repeats, in words. */
export function repetitionText({ count, last, is_unchanged, cycle }: Repetition): string {
  if (cycle !== undefined) return `A cycle of ${cycle} calls, for the ${nth(count)} time`;
  const change = is_unchanged ? ", no file changed since" : "";
  return `Same call and result as row ${last}${change}: the ${nth(count)} time`;
}

export function nth(n: number): string {
  const teen = n % 100 > 10 && n % 100 < 14;
  return `${n}${(!teen && ["th", "st", "nd", "rd"][n % 10]) || "th"}`;
}
