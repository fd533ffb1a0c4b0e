/** Where the stop in the bar would have hit in the shown run: asked for while it is written. */
import { useEffect, useState } from "preact/hooks";
import type { Debugger } from "../model/debugger";
import type { Problem } from "../model/model";
import { problemOf } from "../model/stops";
import type { Stop, StopTrial } from "../protocol/types.gen";

/** Asked once the person pauses. */
const PAUSE_MS = 300;

export interface Tried {
  trial: StopTrial | null;
  /** What the Core refused. */
  problem: Problem | null;
  /** Whether it is about something else than what the bar says now: an answer is on its way. */
  stale: boolean;
}

interface Answer extends Omit<Tried, "stale"> {
  about: string;
}

const NOTHING: Answer = { about: "", trial: null, problem: null };

/** Whether a stop is on doesn't matter for where it would have hit. */
export const asOn = (stop: Stop): Stop => ({ ...stop, enabled: true });

/** @param stop What the bar says; null where it can't be a stop yet. */
export function useTrial(model: Debugger, stop: Stop | null): Tried {
  const [answer, setAnswer] = useState(NOTHING);
  const run = model.run.value;
  const looked = model.tab.value === "stops" && model.connection.value.kind === "open";
  const about = stop && run ? JSON.stringify([run.id, asOn(stop)]) : "";
  // Not after each event of a run that goes on by itself: the Core reads all of it each time.
  const rows = run?.state === "continue" ? null : run?.rows;
  useEffect(() => {
    if (!stop || !run || !looked) return;
    let wanted = true;
    const ask = async () => {
      const got = await outcome(model.stops.try(asOn(stop), run.id));
      if (wanted) setAnswer({ about, ...got });
    };
    const timer = setTimeout(() => void ask(), PAUSE_MS);
    return () => {
      wanted = false;
      clearTimeout(timer);
    };
  }, [about, rows, looked]);
  const { trial, problem } = about === "" ? NOTHING : answer;
  return { trial, problem, stale: answer.about !== about };
}

async function outcome(trials: Promise<readonly StopTrial[]>): Promise<Omit<Tried, "stale">> {
  try {
    const [trial = null] = await trials;
    return { trial, problem: null };
  } catch (error) {
    return { trial: null, problem: problemOf(error) };
  }
}
