/** Below the bar: where the breakpoint would have hit in the shown run. */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Icon } from "../icons/icon";
import { problemOf } from "../model/breakpoints";
import type { Debugger } from "../model/debugger";
import type { Problem, Run } from "../model/model";
import type { BreakpointRule, DryRunOutcome } from "../protocol/types.gen";
import { Button } from "../view/button";
import { escapeInvisible, formatCount } from "../view/format";
import { cx } from "../view/hooks";
import { type BreakpointDraft, revealRow, type WatchKind } from "./draft";

// ---- A run as a line, with a mark where a breakpoint would have hit.

const HEIGHT = 14;
/** About so many small marks divide the line. */
const PARTS = 12;
/** So many numbers are said. */
const MAX_HITS_READ = 20;

interface HitMarksProps {
  /** The seqs of the rows, rising. */
  hits: readonly number[];
  /** How many rows there are. */
  rows: number;
}

export function HitMarks({ hits, rows }: HitMarksProps) {
  const length = Math.max(rows, hits.at(-1) ?? 0, 1);
  const step = Math.max(1, Math.round(length / PARTS));
  const parts = Array.from({ length: Math.floor(length / step) }, (_, at) => (at + 1) * step);
  return (
    <svg
      class="as-Ticks"
      viewBox={`0 0 ${length} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={hitsText(hits, rows)}
    >
      <path class="as-Ticks-parts" d={marks(parts, HEIGHT - 4)} />
      <path class="as-Ticks-hits" d={marks(hits, 0)} />
    </svg>
  );
}

/** Marks in the middle of their rows. */
const marks = (seqs: readonly number[], top: number): string =>
  seqs.map((seq) => `M${seq - 0.5} ${top}V${HEIGHT}`).join("");

function hitsText(hits: readonly number[], rows: number): string {
  if (hits.length === 0) return `No hit in ${rows} events`;
  const more = hits.length > MAX_HITS_READ ? " and more" : "";
  return `Hits at ${hits.slice(0, MAX_HITS_READ).join(", ")}${more} of ${rows} events`;
}

interface PreviewProps {
  model: Debugger;
  dryRun: DryRunState;
  /** What keeps the draft from being a breakpoint; null where it is one. */
  missingReason: string | null;
  /** What the draft watches. */
  watch: BreakpointDraft["watch"];
  /** The person wants it to watch something else. */
  onWatch(watch: WatchKind): void;
  /** What stands at its end. */
  children: ComponentChildren;
}

export function Preview({ model, dryRun, missingReason, watch, onWatch, children }: PreviewProps) {
  const run = model.run.value;
  const { outcome, stale } = dryRun;
  return (
    <div class="as-BreakpointPreview">
      <div
        class={cx("as-BreakpointPreview-said", stale && outcome && "as-mod-stale")}
        role="status"
      >
        {outcome && run ? (
          <DryRunSummary model={model} outcome={outcome} run={run} />
        ) : (
          <NoDryRun run={run} missingReason={missingReason} {...dryRun} />
        )}
        {outcome?.total === 0 && !stale && watch === "repeated" && (
          <Button
            hint="Equal calls count only where no other call stands between them: count them wherever they stand"
            onClick={() => onWatch("recurring")}
          >
            Count in all, not in a row
          </Button>
        )}
      </div>
      {outcome && run && <HitMarks hits={outcome.hits} rows={run.rows} />}
      {outcome && run && <span class="as-Muted as-x-medium">{formatCount(run.rows, "event")}</span>}
      {children}
    </div>
  );
}

function NoDryRun({
  run,
  missingReason,
  problem,
  stale,
}: DryRunState & { run: Run | null; missingReason: string | null }) {
  if (missingReason !== null) return <span class="as-Muted">{missingReason}</span>;
  if (!run) return <span class="as-Muted">Open a run for a dry run of the breakpoint.</span>;
  // What is wrong with a condition stands under it.
  if (problem && problem.code !== "invalid_stop" && !stale)
    return <span class="as-Bad">{escapeInvisible(problem.message)}</span>;
  return <span class="as-Muted">{stale ? "Dry run in progress…" : "No dry run yet"}</span>;
}

interface DryRunSummaryProps {
  model: Debugger;
  outcome: DryRunOutcome;
  run: Run;
}

function DryRunSummary({ model, outcome, run }: DryRunSummaryProps) {
  const { hits, total, error } = outcome;
  if (total === 0) return <span class="as-Muted">Would not have hit in this run.</span>;
  return (
    <>
      <Icon name={error === null ? "check" : "warn"} small />
      <span>
        Would have hit <b>{formatCount(total, "time")}</b> in this run:
      </span>
      <HitLinks model={model} run={run.id} hits={hits} total={total} />
      {error !== null && (
        <span class="as-Bad" title={escapeInvisible(error)}>
          The condition failed at the last event, and the run halts there: {escapeInvisible(error)}
        </span>
      )}
    </>
  );
}

/** So many hits have a link; the others are counted. */
const MAX_LINKS = 6;

interface HitLinksProps {
  model: Debugger;
  run: string;
  hits: readonly number[];
  total: number;
}

export function HitLinks({ model, run, hits, total }: HitLinksProps) {
  const shown = hits.slice(0, MAX_LINKS);
  const rest = total - shown.length;
  return (
    <span class="as-BreakpointHits">
      {shown.map((seq, at) => (
        <span key={seq}>
          <button
            type="button"
            class="as-Link"
            aria-label={`Event ${seq}`}
            onClick={() => void revealRow(model, run, seq)}
          >
            {seq}
          </button>
          {at < shown.length - 1 || rest > 0 ? "," : ""}
        </span>
      ))}
      {rest > 0 && <span class="as-Muted">{rest.toLocaleString("en-US")} more</span>}
    </span>
  );
}

// ---- Where the breakpoint in the bar would have hit in the shown run: asked for while it is written.

/** Asked once the person pauses. */
const TYPING_PAUSE_MS = 300;

export interface DryRunState {
  outcome: DryRunOutcome | null;
  /** What the Core refused. */
  problem: Problem | null;
  /** Whether it is about something else than what the bar says now: an answer is on its way. */
  stale: boolean;
}

interface Answer extends Omit<DryRunState, "stale"> {
  requestKey: string;
}

const NOTHING: Answer = { requestKey: "", outcome: null, problem: null };

/** Whether a breakpoint is on doesn't matter for where it would have hit. */
export const withEnabled = (breakpoint: BreakpointRule): BreakpointRule => ({
  ...breakpoint,
  enabled: true,
});

/** Beside what is tried, what a dry run of the shown run depends on. */
export function dryRunInputs({ run: { value: run }, tab, connection }: Debugger) {
  return {
    isVisible: tab.value === "breakpoints" && connection.value.kind === "open",
    // Not after each event of a run that goes on by itself: the Core reads all of it each time.
    rows: run?.state === "continue" ? null : run?.rows,
  };
}

/** @param breakpoint What the bar says; null where it can't be a breakpoint yet. */
export function useDryRun(model: Debugger, breakpoint: BreakpointRule | null): DryRunState {
  const [answer, setAnswer] = useState(NOTHING);
  const run = model.run.value;
  const { isVisible, rows } = dryRunInputs(model);
  const requestKey = breakpoint && run ? JSON.stringify([run.id, withEnabled(breakpoint)]) : "";
  useEffect(() => {
    if (!breakpoint || !run || !isVisible) return;
    let isCurrent = true;
    const runDryRun = async () => {
      const result = await fetchDryRun(model.breakpoints.dryRun(withEnabled(breakpoint), run.id));
      if (isCurrent) setAnswer({ requestKey, ...result });
    };
    const timer = setTimeout(() => void runDryRun(), TYPING_PAUSE_MS);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [requestKey, rows, isVisible]);
  const { outcome, problem } = requestKey === "" ? NOTHING : answer;
  return { outcome, problem, stale: answer.requestKey !== requestKey };
}

async function fetchDryRun(
  outcomes: Promise<readonly DryRunOutcome[]>,
): Promise<Omit<DryRunState, "stale">> {
  try {
    const [outcome = null] = await outcomes;
    return { outcome, problem: null };
  } catch (error) {
    return { outcome: null, problem: problemOf(error) };
  }
}
