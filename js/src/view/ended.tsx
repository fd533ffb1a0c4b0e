/** How a run ended: well, or by what; a chunk of its own. */

import { useComputed } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { StartButton } from "../again/lazy";
import { Icon } from "../icons/icon";
import type { Debugger } from "../model/debugger";
import type { Run, RunOverview, TimelineRow } from "../model/model";
import { causeOf, isRaisedByAgent } from "../model/status";
import { isGood, outcomeIcon, outcomeTitle } from "../overview/outcome";
import { Button } from "./button";
import { formatCost, formatRunTokens, runTokens, tokensTitle } from "./figures";
import { escapeInvisible, formatCount, formatElapsed } from "./format";
import { cx } from "./hooks";
import { useLoaded } from "./lazy";

export interface EndedProps {
  model: Debugger;
  run: Run;
}

export function Ended({ model, run }: EndedProps) {
  const last = model.rows.value.findLast((row) => row.kind !== "program_finished");
  const loading = useLoaded(model, run.id, () => model.overview(), {
    version: `${run.rows} ${run.checks?.length}`,
  });
  const overview = loading.kind === "ready" ? loading.value : null;
  useEffect(() => {
    if (overview) model.glance.value = overview;
  }, [overview]);
  const said = overview?.outcome === "gave_up" ? null : endText(run, last);
  const known = loading.kind !== "loading";
  if (!said) return <Outcome model={model} run={run} overview={overview} known={known} />;
  return (
    <div class="as-Banner as-mod-bad">
      <Icon name={said.icon} />
      <div class="as-Banner-text" title={said.title}>
        <b>{said.title}</b>
        <span class="as-Muted as-Small">{said.text}</span>
      </div>
      {last && <ToEvent model={model} row={last} />}
    </div>
  );
}

function endText(run: Run, last: TimelineRow | undefined) {
  if (run.ending === "crashed") {
    const cause = escapeInvisible(causeOf(run)) || "The agent ended without a word";
    const process = run.exit_code ? `The agent’s process ${run.exit_code < 0 ? "was " : ""}` : "";
    const [title, text] = isRaisedByAgent(run) ? [cause, RAISED] : [process + cause, KEPT];
    return { icon: "crash", title, text: withLast(text, run) } as const;
  }
  if (run.ending === "lost") {
    const why = run.failure ? escapeInvisible(run.failure.message) : GONE;
    return {
      icon: "unplug",
      title: last ? `The agent left after event ${last.seq}` : "The agent left",
      text: withLast(`${why} ${KEPT}`, run),
    } as const;
  }
  return null;
}

const RAISED = "The agent’s own code raised this. All events before it are stored.";
const GONE = "The agent did not come back, so this run can’t continue.";
const KEPT = "All events until then are stored.";

function withLast(text: string, { last_event }: Run): string {
  return last_event ? `${text} Its last event: ${escapeInvisible(last_event)}.` : text;
}

function ToEvent({ model, row }: { model: Debugger; row: TimelineRow }) {
  return (
    <button type="button" class="as-Link" onClick={() => model.reveal(row.id)}>
      Last event: {row.seq}
    </button>
  );
}

// ---- The end of a run that ended well, or by a person: what it took, and what there is to look at.

interface OutcomeProps extends EndedProps {
  /** Null until it is here, and where the Core has none. */
  overview: RunOverview | null;
  /** Whether no more is going to be known. */
  known: boolean;
}

export function Outcome({ model, run, overview, known }: OutcomeProps) {
  const edits = useComputed(() => editsIn(model.rows.value, run)).value;
  const commits = model.commitCount.value;
  const warns = overview !== null && !isGood(overview) && overview.outcome !== "stopped";
  const finished = run.ending === "finished" && !warns;
  const text = facts(run, commits, edits, overview).join(" · ") || "Nothing was changed or asked";
  const title = overview
    ? outcomeTitle(overview, run)
    : `${run.ending === "finished" ? "Finished" : "Stopped by a person"}${lasted(run)}`;
  // The green tick waits for the overview: it may know better.
  const good = finished && known;
  return (
    <div class={cx("as-Banner", good && "as-mod-good", warns && "as-mod-warn")}>
      <Icon
        name={overview ? outcomeIcon(overview) : run.ending === "finished" ? "check" : "stop"}
      />
      <div class="as-Banner-text">
        <b>{`${title}${overview?.reason ? `: ${escapeInvisible(overview.reason)}` : ""}`}</b>
        {overview && warns && <Contradictions model={model} overview={overview} />}
        <span class="as-Muted as-Small" title={runTokens(run) ? tokensTitle(run) : undefined}>
          {text}
        </span>
      </div>
      <span class="as-Banner-actions">
        {model.control.value && (
          <StartButton
            model={model}
            run={run}
            label="Run again"
            outline
            labelClass="as-x-medium"
            hint="Start the agent again from its begin: models are asked and tools are called"
          />
        )}
        {run.notice.startsWith(RESTORED) && (
          <Button
            outline
            icon="undo"
            hint="This fork restored files in place: look at them, and put them back (6)"
            onClick={() => {
              model.tab.value = "forks";
            }}
          >
            Files
          </Button>
        )}
        {overview && (
          <Button
            outline
            icon="bars"
            hint="How it came out, calls by tool, files, repetitions and errors (5)"
            onClick={() => {
              model.tab.value = "overview";
            }}
          >
            Overview
          </Button>
        )}
        {commits > 0 && (
          <Button
            outline
            icon="commit"
            name="Review changes"
            hint="What the agent changed in its workspace"
            onClick={() => {
              model.tab.value = "changes";
            }}
          >
            <span class="as-x-medium">Review changes</span>
            <span class="as-onlyMedium">Changes</span>
          </Button>
        )}
      </span>
    </div>
  );
}

/** How the notice of a fork in place begins: agentstepper_nb/replay/workspace_report.py. */
const RESTORED = "Files restored in place";

/** The others stand in the overview. */
const MOST_CONTRADICTIONS = 2;

/** What speaks against the run's end, with the row that shows it. */
function Contradictions({ model, overview }: { model: Debugger; overview: RunOverview }) {
  return (
    <>
      {overview.contradictions.slice(0, MOST_CONTRADICTIONS).map(({ text, row }) => (
        <span key={text} class="as-Small" role="note">
          {`${escapeInvisible(text)} `}
          {row !== null && row !== undefined && (
            <button type="button" class="as-Link" onClick={() => model.reveal(row)}>
              {`Go to row ${row}`}
            </button>
          )}
        </span>
      ))}
    </>
  );
}

function lasted({ started_at, ended_at }: Run): string {
  return ended_at === null ? "" : ` after ${formatElapsed(ended_at - started_at)}`;
}

/** Whose time it was, where the agent waited for a person. */
function shares({ started_at, ended_at, halted_at, halted_s }: Run): string | null {
  if (ended_at === null || halted_s === null) return null;
  const yours = halted_s + (halted_at === null ? 0 : ended_at - halted_at);
  const own = ended_at - started_at - yours;
  return yours < 1 ? null : `agent ${formatElapsed(own)}, you ${formatElapsed(yours)}`;
}

function facts(
  run: Run,
  commits: number,
  edits: number | null,
  overview: RunOverview | null,
): string[] {
  const tokens = runTokens(run);
  const hits = run.hits.reduce((sum, one) => sum + one.count, 0);
  const check = run.checks?.at(-1);
  const files = overview?.files.filter(({ changes }) => changes > 0).length ?? 0;
  return [
    shares(run),
    tokens && `${formatRunTokens(tokens)} tokens`,
    formatCost(run.usage),
    commits > 0 && formatCount(commits, "commit"),
    files > 0 && `${formatCount(files, "file")} changed`,
    check &&
      `check “${escapeInvisible(check.command)}” ${check.exit_code === 0 ? "passed" : "failed"}`,
    edits !== null && edits > 0 && `${formatCount(edits, "message")} edited by a person`,
    hits > 0 && `breakpoints hit ${hits === 1 ? "once" : `${hits.toLocaleString("en-US")} times`}`,
  ].filter((fact) => typeof fact === "string");
}

/** How many messages were edited; null where not all are here. */
function editsIn(rows: readonly TimelineRow[], run: Run): number | null {
  return rows.length < run.rows ? null : rows.filter(({ edited }) => edited).length;
}
