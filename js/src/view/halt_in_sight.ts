/** Under a cell the run control may stand below the window when the agent first halts: it is scrolled into sight. */
import { useEffect } from "preact/hooks";
import type { Debugger } from "../model/debugger";
import type { Place } from "./place";

export function useHaltInSight(
  model: Debugger,
  { shell }: Place,
  root: { current: HTMLElement | null },
): void {
  const halted = (model.run.value?.pending.length ?? 0) > 0;
  const run = model.run.value?.id;
  // At the first halt of a run alone: later the person may be reading elsewhere.
  useEffect(() => {
    if (!halted || shell !== "inline" || seen.has(run ?? "")) return;
    seen.add(run ?? "");
    root.current?.querySelector(".as-Header")?.scrollIntoView({ block: "nearest" });
  }, [halted, run]);
}

/** Runs whose first halt was shown on this page. */
const seen = new Set<string>();
