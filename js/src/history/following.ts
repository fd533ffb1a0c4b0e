/** Which line of the list is the active one, and when it is given the focus. */

import { useSignalEffect } from "@preact/signals";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Debugger } from "../model/debugger";
import { historyOf } from "../model/history";
import type { Run } from "../model/model";

/** The line that keys go from. Where its run is gone it is the one that has its place. */
export function useActive(model: Debugger, lines: readonly Run[]) {
  const [active, setActive] = useState<string | null>(null);
  const last = useRef(0);
  const wanted = active ?? model.run.value?.id;
  const found = lines.findIndex(({ id }) => id === wanted);
  const at = found >= 0 ? found : Math.max(0, Math.min(last.current, lines.length - 1));
  last.current = at;
  return { at, setActive };
}

/** Give the focus to a run's line, once it is drawn. */
export function useFocus(
  scroller: { current: HTMLElement | null },
  lines: readonly Run[],
  show: (index: number) => void,
): (run: string) => void {
  const wanted = useRef<string | null>(null);
  const [, redraw] = useState({});
  useLayoutEffect(() => {
    if (wanted.current === null) return;
    const rows = scroller.current?.querySelectorAll<HTMLElement>(".as-RunRow") ?? [];
    const row = [...rows].find(({ dataset }) => dataset.run === wanted.current);
    if (!row) return;
    show(lines.findIndex(({ id }) => id === wanted.current));
    wanted.current = null;
    row.focus({ preventScroll: true });
  });
  return (run) => {
    wanted.current = run;
    redraw({});
  };
}

/** Hear of a run that was imported, and of the list's being asked for by its key. */
export function useSummons(model: Debugger, onSummons: (run: string) => void): void {
  const history = historyOf(model);
  const latest = useRef(onSummons);
  latest.current = onSummons;
  useSignalEffect(() => {
    const { value } = history.imported;
    if (!value) return;
    history.imported.value = null;
    history.narrow({ text: "", outcome: "", tag: "" });
    void history.search("");
    latest.current(value.run);
  });
  useSignalEffect(() => {
    if (!history.focused.value) return;
    history.focused.value = null;
    const run = model.run.peek() ?? model.runs.peek().at(-1);
    if (run) latest.current(run.id);
  });
}
