/** How a run ended: well, or by what; a chunk of its own. */

import { useComputed } from "@preact/signals";
import { Icon } from "../icons/icon";
import type { Debugger } from "../model/debugger";
import type { Run, TimelineRow } from "../model/model";
import { causeOf, isRaisedByAgent } from "../model/status";
import { Button } from "./button";
import { formatCost, formatRunTokens, runTokens, tokensTitle } from "./figures";
import { escapeInvisible, formatCount, formatElapsed } from "./format";
import { cx } from "./hooks";

export interface EndedProps {
  model: Debugger;
  run: Run;
}

export function Ended({ model, run }: EndedProps) {
  const last = model.rows.value.findLast((row) => row.kind !== "program_finished");
  const said = endText(run, last);
  if (!said) return <Outcome model={model} run={run} />;
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
  return last_event ? `${text}Its last event: ${escapeInvisible(last_event)}.` : text;
}

function ToEvent({ model, row }: { model: Debugger; row: TimelineRow }) {
  return (
    <button type="button" class="as-Link" onClick={() => model.reveal(row.id)}>
      Last event: {row.seq}
    </button>
  );
}

// ---- The end of a run that ended well, or by a person: what it took, and what there is to look at.

export function Outcome({ model, run }: { model: Debugger; run: Run }) {
  const edits = useComputed(() => editsIn(model.rows.value, run)).value;
  const commits = model.commitCount.value;
  const finished = run.ending === "finished";
  const text = facts(run, commits, edits).join(" · ") || "Nothing was changed or asked";
  return (
    <div class={cx("as-Banner", finished && "as-mod-good")}>
      <Icon name={finished ? "check" : "stop"} />
      <div class="as-Banner-text">
        <b>{`${finished ? "Finished" : "Stopped by a person"}${lasted(run)}`}</b>
        <span class="as-Muted as-Small" title={runTokens(run) ? tokensTitle(run) : undefined}>
          {text}
        </span>
      </div>
      {commits > 0 && (
        <Button
          outline
          icon="commit"
          hint="What the agent changed in its workspace"
          onClick={() => {
            model.tab.value = "changes";
          }}
        >
          Review changes
        </Button>
      )}
    </div>
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

function facts(run: Run, commits: number, edits: number | null): string[] {
  const tokens = runTokens(run);
  const hits = run.hits.reduce((sum, one) => sum + one.count, 0);
  return [
    shares(run),
    tokens && `${formatRunTokens(tokens)} tokens`,
    formatCost(run.usage),
    commits > 0 && formatCount(commits, "commit"),
    edits !== null && edits > 0 && `${formatCount(edits, "message")} edited by a person`,
    hits > 0 && `breakpoints hit ${hits === 1 ? "once" : `${hits.toLocaleString("en-US")} times`}`,
  ].filter((fact) => typeof fact === "string");
}

/** How many messages were edited; null where not all are here. */
function editsIn(rows: readonly TimelineRow[], run: Run): number | null {
  return rows.length < run.rows ? null : rows.filter(({ edited }) => edited).length;
}
