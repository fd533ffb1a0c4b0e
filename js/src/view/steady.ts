/** Between two halts that are a blink apart the header stays as it is: a quick step doesn't flicker. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { Debugger } from "../model/debugger";
import type { Row, Run } from "../model/model";

const BLINK_MS = 120;

export interface Steady {
  run: Run | null;
  pending: readonly Row[];
}

/** The shown run and what waits in it; after a step the halted one for a moment longer. */
export function useSteady(model: Debugger): Steady {
  const now = { run: model.run.value, pending: model.pending.value };
  const kept = useRef<Steady>(now);
  const [over, setOver] = useState(false);
  const blinks = !over && maybeBlink(kept.current.run, now.run);
  if (!blinks) kept.current = now;
  useEffect(() => {
    setOver(false);
    if (!blinks) return;
    const timer = setTimeout(() => setOver(true), BLINK_MS);
    return () => clearTimeout(timer);
  }, [blinks]);
  return kept.current;
}

function maybeBlink(before: Run | null, now: Run | null): boolean {
  return (
    before?.state === "halted" &&
    now?.id === before.id &&
    now.state === "step" &&
    now.stopping === before.stopping
  );
}
