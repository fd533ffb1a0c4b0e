/** The form of a new breakpoint, and what it would have stopped. */

import { useSignalEffect } from "@preact/signals";
import { useRef, useState } from "preact/hooks";
import { problemOf } from "../model/breakpoints";
import { readOnlyReason } from "../model/controls";
import type { Debugger } from "../model/debugger";
import type { Problem } from "../model/model";
import type { BreakpointRule, DryRunOutcome } from "../protocol/types.gen";
import { Button } from "../view/button";
import { escapeInvisible, formatCount, formatDate } from "../view/format";
import {
  type BreakpointDraft,
  breakpointOf,
  draftFromRow,
  isProblem,
  newDraft,
  revealRow,
} from "./draft";
import {
  AgentField,
  ConditionField,
  HitCountField,
  NameField,
  ReactionField,
  ScopeField,
  WatchField,
  WhereField,
} from "./fields";
import { HitLinks, Preview, useDryRun, withEnabled } from "./preview";

interface BarProps {
  model: Debugger;
  /** The breakpoint that was changed, or left as it was: its row takes the focus. */
  onLeave(breakpoint: string): void;
}

export function Bar({ model, onLeave }: BarProps) {
  const form = useRef<HTMLFormElement>(null);
  const { breakpoints } = model;
  const [fresh, setFresh] = useState(() => newDraft());
  const draft = breakpoints.draft.value ?? fresh;
  const edits = breakpoints.all.value.some(({ id }) => id === draft.id);
  const result = breakpointOf(draft, model.run.value);
  const breakpoint = isProblem(result) ? null : result;
  const dryRun = useDryRun(model, breakpoint);
  const { past: pastDryRuns, ask: runDryRun, close } = usePastDryRuns(model, breakpoint);
  const setting = useSetBreakpoint(model, breakpoint);
  useTemplate(model, form);

  const invalid = dryRun.stale || dryRun.problem?.code !== "invalid_stop" ? null : dryRun.problem;
  const refused = setting.problem ?? invalid;
  const disabledReason =
    readOnlyReason(model) ??
    (isProblem(result) ? result.why : null) ??
    (refused ? "Correct the breakpoint first" : null);

  const leave = () => {
    breakpoints.draft.value = null;
    setFresh(newDraft());
    close();
    if (edits) onLeave(draft.id);
  };
  const set = async () => {
    if (breakpoint && disabledReason === null && (await setting.set())) leave();
  };
  const onChange = (fields: Partial<BreakpointDraft>) => {
    breakpoints.draft.value = { ...draft, ...fields };
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.isComposing) return;
    const inField = event.target instanceof HTMLInputElement;
    if (event.key === "Escape") edits ? leave() : focusList(form.current);
    else if (event.key === "Enter" && inField) void set();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const fields = { draft, onChange };
  return (
    <form
      ref={form}
      class="as-BreakpointBar"
      aria-label={edits ? "Edit a breakpoint" : "Add a breakpoint"}
      onSubmit={(event) => event.preventDefault()}
      onKeyDown={onKeyDown}
    >
      <div class="as-BreakpointBar-line">
        <span class="as-Muted as-BreakpointBar-word">{edits ? "Edit" : "New"}</span>
        <WhereField {...fields} />
        <NameField {...fields} rows={model.rows.value} />
        <span class="as-BreakpointBar-agent">
          <span class="as-Muted">by</span>
          <AgentField {...fields} lanes={model.lanes.value.all} />
        </span>
        <span class="as-Muted">where</span>
        <ConditionField {...fields} problem={refused?.message ?? null} />
      </div>
      <div class="as-BreakpointBar-line">
        <span class="as-BreakpointBar-word" />
        <WatchField {...fields} />
        <HitCountField {...fields} />
        <ReactionField {...fields} />
        <ScopeField {...fields} run={model.run.value} />
        <span class="as-Spring" />
        {edits && (
          <Button hint="Discard the changes (Esc)" onClick={leave}>
            Cancel
          </Button>
        )}
        <Button
          outline
          icon={edits ? "check" : "plus"}
          hint={edits ? "Save the breakpoint (Enter)" : "Add the breakpoint (Enter)"}
          disabledReason={disabledReason}
          name={edits ? "Save breakpoint" : "Add breakpoint"}
          onClick={() => void set()}
        >
          {edits ? "Save " : "Add "}
          <span class="as-x-medium">breakpoint</span>
        </Button>
      </div>
      <Preview
        model={model}
        dryRun={dryRun}
        missingReason={isProblem(result) ? result.why : null}
        watch={draft.watch}
        onWatch={(watch) => onChange({ watch })}
      >
        <DryRunButton
          pastDryRuns={pastDryRuns}
          disabledReason={
            breakpoint
              ? refused && "Correct the breakpoint first"
              : isProblem(result)
                ? result.why
                : null
          }
          onRun={() => void runDryRun()}
          onClose={close}
        />
      </Preview>
      {pastDryRuns && <DryRunResults model={model} pastDryRuns={pastDryRuns} />}
      <span class="as-Hidden" role="status">
        {setting.done}
      </span>
    </form>
  );
}

/** Hands the breakpoint to the Core. What it refused is told until the breakpoint is another. */
function useSetBreakpoint(model: Debugger, breakpoint: BreakpointRule | null) {
  const [refused, setRefused] = useState<{ breakpointJson: string; problem: Problem } | null>(null);
  const [done, setDone] = useState("");
  const breakpointJson = JSON.stringify(breakpoint);
  const set = async (): Promise<boolean> => {
    if (!breakpoint) return false;
    const known = model.breakpoints.all.peek().some(({ id }) => id === breakpoint.id);
    const problem = await model.breakpoints.set(breakpoint);
    setRefused(problem && { breakpointJson, problem });
    setDone(problem ? "" : known ? "Breakpoint saved" : "Breakpoint added");
    return problem === null;
  };
  return {
    set,
    done,
    problem: refused?.breakpointJson === breakpointJson ? refused.problem : null,
  };
}

/** A row that a breakpoint is to be made like stands in the bar, and its condition is to be written. */
function useTemplate(model: Debugger, form: { current: HTMLFormElement | null }): void {
  useSignalEffect(() => {
    const row = model.breakpoints.template.value;
    if (!row) return;
    model.breakpoints.draft.value = draftFromRow(row);
    model.breakpoints.template.value = null;
    // The tab is shown by then: what is hidden can't take the focus.
    requestAnimationFrame(() =>
      form.current?.querySelector<HTMLElement>(".as-BreakpointBar-condition")?.focus(),
    );
  });
}

/** Esc leaves the fields: for the list, else for the tabs. */
function focusList(form: HTMLElement | null): void {
  const row = form
    ?.closest(".as-Breakpoints")
    ?.querySelector<HTMLElement>('.as-BreakpointRow[tabindex="0"]');
  const tab = form
    ?.closest(".as-View")
    ?.querySelector<HTMLElement>('.as-Tab[aria-selected="true"]');
  (row ?? tab)?.focus();
}

// ---- Where the breakpoint in the bar would have hit in past runs: asked for by a button, a line a run.

export interface PastDryRuns {
  /** The breakpoint that the answer is about, as JSON. */
  breakpointJson: string;
  /** Null while it is awaited. */
  outcomes: readonly DryRunOutcome[] | null;
  problem: Problem | null;
}

/** What was found in past runs; null once the breakpoint is another. */
export function usePastDryRuns(model: Debugger, breakpoint: BreakpointRule | null) {
  const [pastDryRuns, setPast] = useState<PastDryRuns | null>(null);
  const breakpointJson = breakpoint ? JSON.stringify(withEnabled(breakpoint)) : "";
  const store = (breakpointJson: string, found: Omit<PastDryRuns, "breakpointJson">) =>
    setPast((now) => (now?.breakpointJson === breakpointJson ? { breakpointJson, ...found } : now));
  const runDryRun = async () => {
    if (!breakpoint) return;
    setPast({ breakpointJson, outcomes: null, problem: null });
    try {
      store(breakpointJson, {
        outcomes: await model.breakpoints.dryRun(withEnabled(breakpoint), null),
        problem: null,
      });
    } catch (error) {
      store(breakpointJson, { outcomes: [], problem: problemOf(error) });
    }
  };
  return {
    past: pastDryRuns?.breakpointJson === breakpointJson ? pastDryRuns : null,
    ask: runDryRun,
    close: () => setPast(null),
  };
}

interface DryRunButtonProps {
  pastDryRuns: PastDryRuns | null;
  disabledReason: string | null;
  onRun(): void;
  onClose(): void;
}

export function DryRunButton({ pastDryRuns, disabledReason, onRun, onClose }: DryRunButtonProps) {
  const busy = pastDryRuns !== null && pastDryRuns.outcomes === null;
  return (
    <Button
      outline
      hint={
        pastDryRuns
          ? "Close the list of past runs"
          : "Show where the breakpoint would have hit in past runs"
      }
      disabledReason={disabledReason ?? (busy ? "The dry run reads past runs" : null)}
      pressed={pastDryRuns !== null}
      onClick={pastDryRuns ? onClose : onRun}
    >
      {busy ? "Reading past runs…" : "Dry run on past runs"}
    </Button>
  );
}

export function DryRunResults({
  model,
  pastDryRuns,
}: {
  model: Debugger;
  pastDryRuns: PastDryRuns;
}) {
  const { outcomes, problem } = pastDryRuns;
  if (problem) {
    return (
      <p class="as-Bad as-Small" role="alert">
        {escapeInvisible(problem.message)}
      </p>
    );
  }
  if (!outcomes) return null;
  const hit = outcomes.filter(({ total }) => total > 0).length;
  return (
    <div class="as-BreakpointsPast">
      <p class="as-Muted as-Small" role="status">
        {outcomes.length === 0
          ? "No run of these agents is recorded."
          : `Would have hit in ${hit} of the last ${formatCount(outcomes.length, "run")}.`}
      </p>
      {outcomes.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keys
        <ul class="as-Scroll" aria-label="Past runs" tabIndex={0}>
          {outcomes.map((outcome) => (
            <PastRun key={outcome.run} model={model} outcome={outcome} />
          ))}
        </ul>
      )}
    </div>
  );
}

function PastRun({ model, outcome }: { model: Debugger; outcome: DryRunOutcome }) {
  const { run: id, hits, total, error } = outcome;
  const run = model.runs.value.find((each) => each.id === id);
  const name = escapeInvisible(run?.name ?? id);
  return (
    <li>
      <button
        type="button"
        class="as-Link as-Ellipsis as-BreakpointsPast-name"
        title={`Open ${name}${hits[0] ? ` at event ${hits[0]}` : ""}`}
        onClick={() => void revealRow(model, id, hits[0] ?? 1)}
      >
        {name}
      </button>
      <span class="as-Muted as-Small as-x-narrow">{run ? formatDate(run.started_at) : ""}</span>
      {total === 0 ? (
        <span class="as-Muted">no hit</span>
      ) : (
        <>
          <span>{formatCount(total, "hit")}:</span>
          <HitLinks model={model} run={id} hits={hits} total={total} />
        </>
      )}
      {error !== null && (
        <span class="as-Bad as-Ellipsis" title={escapeInvisible(error)}>
          {escapeInvisible(error)}
        </span>
      )}
    </li>
  );
}
