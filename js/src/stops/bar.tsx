/** The form of a new stop, and what it would have stopped. */

import { useSignalEffect } from "@preact/signals";
import { useRef, useState } from "preact/hooks";
import { barred } from "../model/controls";
import type { Debugger } from "../model/debugger";
import type { Problem } from "../model/model";
import { problemOf } from "../model/stops";
import type { BreakpointRule, DryRunOutcome } from "../protocol/types.gen";
import { Button } from "../view/button";
import { count, visible, when } from "../view/words";
import { draftLike, freshDraft, goTo, isLack, type StopDraft, stopOf } from "./draft";
import {
  ConditionField,
  NameField,
  OftenField,
  ScopeField,
  ThenField,
  WatchField,
  WhereField,
} from "./fields";
import { asOn, HitLinks, Preview, useTrial } from "./preview";

interface BarProps {
  model: Debugger;
  /** The stop that was changed, or left as it was: its row takes the focus. */
  onLeave(stop: string): void;
}

export function Bar({ model, onLeave }: BarProps) {
  const form = useRef<HTMLFormElement>(null);
  const { stops } = model;
  const [fresh, setFresh] = useState(() => freshDraft());
  const draft = stops.draft.value ?? fresh;
  const edits = stops.all.value.some(({ id }) => id === draft.id);
  const made = stopOf(draft, model.run.value);
  const stop = isLack(made) ? null : made;
  const tried = useTrial(model, stop);
  const { past, ask, close } = usePast(model, stop);
  const setting = useSetting(model, stop);
  useLike(model, form);

  const invalid = tried.stale || tried.problem?.code !== "invalid_stop" ? null : tried.problem;
  const refused = setting.problem ?? invalid;
  const held =
    barred(model) ?? (isLack(made) ? made.why : null) ?? (refused ? "Correct it first" : null);

  const leave = () => {
    stops.draft.value = null;
    setFresh(freshDraft());
    close();
    if (edits) onLeave(draft.id);
  };
  const set = async () => {
    if (stop && held === null && (await setting.set())) leave();
  };
  const onChange = (fields: Partial<StopDraft>) => {
    stops.draft.value = { ...draft, ...fields };
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const inField = event.target instanceof HTMLInputElement;
    if (event.key === "Escape") edits ? leave() : focusList(form.current);
    else if (event.key === "Enter" && inField && !event.isComposing) void set();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const fields = { draft, onChange };
  return (
    <form
      ref={form}
      class="as-StopBar"
      aria-label={edits ? "Change a stop" : "Add a stop"}
      onSubmit={(event) => event.preventDefault()}
      onKeyDown={onKeyDown}
    >
      <div class="as-StopBar-line">
        <span class="as-Muted as-StopBar-word">{edits ? "Edit" : "New"}</span>
        <WhereField {...fields} />
        <NameField {...fields} rows={model.rows.value} />
        <span class="as-Muted">where</span>
        <ConditionField {...fields} problem={refused?.message ?? null} />
      </div>
      <div class="as-StopBar-line">
        <span class="as-StopBar-word" />
        <WatchField {...fields} />
        <OftenField {...fields} />
        <ThenField {...fields} />
        <ScopeField {...fields} run={model.run.value} />
        <span class="as-Spring" />
        {edits && (
          <Button hint="Leave the stop as it was (Esc)" onClick={leave}>
            Cancel
          </Button>
        )}
        <Button
          outline
          icon={edits ? "check" : "plus"}
          hint={edits ? "Change the stop (Enter)" : "Set the stop (Enter)"}
          held={held}
          onClick={() => void set()}
        >
          {edits ? "Save stop" : "Add stop"}
        </Button>
      </div>
      <Preview
        model={model}
        tried={tried}
        lack={isLack(made) ? made.why : null}
        watch={draft.watch}
        onWatch={(watch) => onChange({ watch })}
      >
        <PastButton
          past={past}
          held={stop ? refused && "Correct it first" : isLack(made) ? made.why : null}
          onAsk={() => void ask()}
          onClose={close}
        />
      </Preview>
      {past && <PastRuns model={model} past={past} />}
      <span class="as-Hidden" role="status">
        {setting.done}
      </span>
    </form>
  );
}

/** Hands the stop to the Core. What it refused is told until the stop is another. */
function useSetting(model: Debugger, stop: BreakpointRule | null) {
  const [refused, setRefused] = useState<{ about: string; problem: Problem } | null>(null);
  const [done, setDone] = useState("");
  const about = JSON.stringify(stop);
  const set = async (): Promise<boolean> => {
    if (!stop) return false;
    const known = model.stops.all.peek().some(({ id }) => id === stop.id);
    const problem = await model.stops.set(stop);
    setRefused(problem && { about, problem });
    setDone(problem ? "" : known ? "The stop is changed" : "The stop is set");
    return problem === null;
  };
  return { set, done, problem: refused?.about === about ? refused.problem : null };
}

/** A row that a stop is to be made like stands in the bar, and its condition is to be written. */
function useLike(model: Debugger, form: { current: HTMLFormElement | null }): void {
  useSignalEffect(() => {
    const row = model.stops.like.value;
    if (!row) return;
    model.stops.draft.value = draftLike(row);
    model.stops.like.value = null;
    // The tab is shown by then: what is hidden can't take the focus.
    requestAnimationFrame(() =>
      form.current?.querySelector<HTMLElement>(".as-StopBar-condition")?.focus(),
    );
  });
}

/** Esc leaves the fields: for the list, else for the tabs. */
function focusList(form: HTMLElement | null): void {
  const row = form?.closest(".as-Stops")?.querySelector<HTMLElement>('.as-StopRow[tabindex="0"]');
  const tab = form
    ?.closest(".as-View")
    ?.querySelector<HTMLElement>('.as-Tab[aria-selected="true"]');
  (row ?? tab)?.focus();
}

// ---- Where the stop in the bar would have hit in past runs: asked for by a button, a line a run.

export interface Past {
  /** What the answer is about. */
  about: string;
  /** Null while it is awaited. */
  trials: readonly DryRunOutcome[] | null;
  problem: Problem | null;
}

/** What was found in past runs; null once the stop is another. */
export function usePast(model: Debugger, stop: BreakpointRule | null) {
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

function PastRun({ model, trial }: { model: Debugger; trial: DryRunOutcome }) {
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
