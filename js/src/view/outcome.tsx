/** The end of a run that ended well, or by a person: what it took, and what there is to look at. */
import { useComputed } from "@preact/signals";
import { Icon } from "../icons/icon";
import type { Debugger } from "../model/debugger";
import type { Row, Run } from "../model/model";
import { Button } from "./button";
import { cx } from "./classes";
import { costFigure, tokensFigure, tokensOf, tokensTitle } from "./figures";
import { count, elapsed } from "./words";

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
        <span class="as-Muted as-Small" title={tokensOf(run) ? tokensTitle(run) : undefined}>
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
  return ended_at === null ? "" : ` after ${elapsed(ended_at - started_at)}`;
}

/** Whose time it was, where the agent waited for a person. */
function shares({ started_at, ended_at, halted_at, halted_s }: Run): string | null {
  if (ended_at === null || halted_s === null) return null;
  const yours = halted_s + (halted_at === null ? 0 : ended_at - halted_at);
  const own = ended_at - started_at - yours;
  return yours < 1 ? null : `agent ${elapsed(own)}, you ${elapsed(yours)}`;
}

function facts(run: Run, commits: number, edits: number | null): string[] {
  const tokens = tokensOf(run);
  const hits = run.hits.reduce((sum, one) => sum + one.count, 0);
  return [
    shares(run),
    tokens && `${tokensFigure(tokens)} tokens`,
    costFigure(run.usage),
    commits > 0 && count(commits, "commit"),
    edits !== null && edits > 0 && `${count(edits, "message")} edited by a person`,
    hits > 0 && `stops hit ${hits === 1 ? "once" : `${hits.toLocaleString("en-US")} times`}`,
  ].filter((fact) => typeof fact === "string");
}

/** How many messages were edited; null where not all are here. */
function editsIn(rows: readonly Row[], run: Run): number | null {
  return rows.length < run.rows ? null : rows.filter(({ edited }) => edited).length;
}
