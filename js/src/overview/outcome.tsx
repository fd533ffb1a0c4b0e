/** How a run came out, what contradicts its last words, and the checks that a person ran. */
import { Icon, type IconName } from "../icons/icon";
import type { Model, Run, RunOverview } from "../model/model";
import type { RunOutcome } from "../protocol/types.gen";
import { escapeInvisible, formatElapsed } from "../view/format";
import { cx } from "../view/hooks";
import { RowLink } from "./parts";

/** What each outcome is called. */
export const OUTCOME_WORDS: Record<RunOutcome, string> = {
  running: "Still running",
  finished: "Finished",
  gave_up: "Gave up",
  stopped: "Stopped by a person",
  crashed: "Crashed",
  lost: "The agent left",
};

/** What an outcome is called, and how long it took. */
export function outcomeTitle(overview: RunOverview, { started_at, ended_at }: Run): string {
  const lasted = ended_at === null ? "" : ` after ${formatElapsed(ended_at - started_at)}`;
  return OUTCOME_WORDS[overview.outcome] + lasted;
}

/** Whether nothing speaks against a run that finished. */
export const isGood = ({ outcome, contradictions }: RunOverview): boolean =>
  outcome === "finished" && contradictions.length === 0;

const ICONS: Partial<Record<RunOutcome, IconName>> = {
  stopped: "stop",
  crashed: "crash",
  lost: "unplug",
  running: "play",
};

export const outcomeIcon = (overview: RunOverview): IconName =>
  ICONS[overview.outcome] ?? (isGood(overview) ? "check" : "warn");

interface OutcomeProps {
  model: Model;
  run: Run;
  overview: RunOverview;
}

export function Outcome({ model, run, overview }: OutcomeProps) {
  const { reason, said, said_row, contradictions, check_runs } = overview;
  const warns = contradictions.length > 0 || overview.outcome === "gave_up";
  return (
    <section
      class={cx("as-Outcome", warns && "as-mod-warn", isGood(overview) && "as-mod-good")}
      aria-label="Outcome"
    >
      <h3>
        <Icon name={outcomeIcon(overview)} />
        {outcomeTitle(overview, run)}
      </h3>
      {reason && <p>{`${escapeInvisible(reason)}.`}</p>}
      {contradictions.map(({ text, row }) => (
        <p key={text} class="as-Contradiction">
          <Icon name="warn" small />
          <span>
            {escapeInvisible(text)}{" "}
            {row !== null && row !== undefined && (
              <>
                Row <RowLink model={model} row={row} />
              </>
            )}
          </span>
        </p>
      ))}
      {said && (
        <p class="as-Muted">
          {"Its last words"}
          {said_row !== null && said_row !== undefined && (
            <>
              {" (row "}
              <RowLink model={model} row={said_row} />
              {")"}
            </>
          )}
          {": "}
          <q>{escapeInvisible(said)}</q>
        </p>
      )}
      {check_runs.map(({ command, exit_code, line, at }) => (
        <p key={at} class={exit_code === 0 ? "as-Good" : "as-Bad"}>
          <Icon name={exit_code === 0 ? "check" : "cross"} small />
          <code class="as-Code">{escapeInvisible(command)}</code>
          {exit_code === 0 ? " passed" : ` failed with exit code ${exit_code}`}
          {line && <span class="as-Muted">{` · ${escapeInvisible(line)}`}</span>}
        </p>
      ))}
      {overview.outcome !== "running" && check_runs.length === 0 && run.workspace && (
        <p class="as-Muted as-Small">
          {"Check how it came out, in its notebook: "}
          <code class="as-Code">%agentstepper check "pytest -q"</code>
        </p>
      )}
    </section>
  );
}
