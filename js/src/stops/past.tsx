/** Where the stop in the bar would have hit in past runs: asked for by a button, a line a run. */
import { useState } from "preact/hooks";
import type { Debugger } from "../model/debugger";
import type { Problem } from "../model/model";
import { problemOf } from "../model/stops";
import type { Stop, StopTrial } from "../protocol/types.gen";
import { Button } from "../view/button";
import { visible } from "../view/visible";
import { count, when } from "../view/words";
import { goTo } from "./draft";
import { HitLinks } from "./preview";
import { asOn } from "./trial";

export interface Past {
  /** What the answer is about. */
  about: string;
  /** Null while it is awaited. */
  trials: readonly StopTrial[] | null;
  problem: Problem | null;
}

/** What was found in past runs; null once the stop is another. */
export function usePast(model: Debugger, stop: Stop | null) {
  const [past, setPast] = useState<Past | null>(null);
  const about = stop ? JSON.stringify(asOn(stop)) : "";
  const put = (about: string, found: Omit<Past, "about">) =>
    setPast((now) => (now?.about === about ? { about, ...found } : now));
  const ask = async () => {
    if (!stop) return;
    setPast({ about, trials: null, problem: null });
    try {
      put(about, { trials: await model.stops.try(asOn(stop), null), problem: null });
    } catch (error) {
      put(about, { trials: [], problem: problemOf(error) });
    }
  };
  return { past: past?.about === about ? past : null, ask, close: () => setPast(null) };
}

interface PastButtonProps {
  past: Past | null;
  held: string | null;
  onAsk(): void;
  onClose(): void;
}

export function PastButton({ past, held, onAsk, onClose }: PastButtonProps) {
  const busy = past !== null && past.trials === null;
  return (
    <Button
      outline
      hint={past ? "Close the list of past runs" : "Where it would have hit in the last runs"}
      held={held ?? (busy ? "Past runs are being read" : null)}
      pressed={past !== null}
      onClick={past ? onClose : onAsk}
    >
      {busy ? "Reading past runs…" : "On past runs"}
    </Button>
  );
}

export function PastRuns({ model, past }: { model: Debugger; past: Past }) {
  const { trials, problem } = past;
  if (problem) {
    return (
      <p class="as-Bad as-Small" role="alert">
        {visible(problem.message)}
      </p>
    );
  }
  if (!trials) return null;
  const hit = trials.filter(({ total }) => total > 0).length;
  return (
    <div class="as-StopsPast">
      <p class="as-Muted as-Small" role="status">
        {trials.length === 0
          ? "No run of such agents is kept."
          : `Would have hit in ${hit} of the last ${count(trials.length, "run")}.`}
      </p>
      {trials.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keys
        <ul class="as-Scroll" aria-label="Past runs" tabIndex={0}>
          {trials.map((trial) => (
            <PastRun key={trial.run} model={model} trial={trial} />
          ))}
        </ul>
      )}
    </div>
  );
}

function PastRun({ model, trial }: { model: Debugger; trial: StopTrial }) {
  const { run: id, hits, total, error } = trial;
  const run = model.runs.value.find((each) => each.id === id);
  const name = visible(run?.name ?? id);
  return (
    <li>
      <button
        type="button"
        class="as-Link as-Ellipsis as-StopsPast-name"
        title={`Open ${name}${hits[0] ? ` at event ${hits[0]}` : ""}`}
        onClick={() => void goTo(model, id, hits[0] ?? 1)}
      >
        {name}
      </button>
      <span class="as-Muted as-Small as-x-narrow">{run ? when(run.started_at) : ""}</span>
      {total === 0 ? (
        <span class="as-Muted">no hit</span>
      ) : (
        <>
          <span>{count(total, "hit")}:</span>
          <HitLinks model={model} run={id} hits={hits} total={total} />
        </>
      )}
      {error !== null && (
        <span class="as-Bad as-Ellipsis" title={visible(error)}>
          {visible(error)}
        </span>
      )}
    </li>
  );
}
