/** How a run ended: well, or by what; a chunk of its own. */
import { Icon } from "../icons/icon";
import type { Debugger } from "../model/debugger";
import type { Row, Run } from "../model/model";
import { causeOf, wasRaised } from "../model/status";
import { Outcome } from "./outcome";
import { visible } from "./visible";

export interface EndedProps {
  model: Debugger;
  run: Run;
}

export function Ended({ model, run }: EndedProps) {
  const last = model.rows.value.findLast((row) => row.kind !== "program_finished");
  const said = words(run, last);
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

function words(run: Run, last: Row | undefined) {
  if (run.ending === "crashed") {
    const cause = visible(causeOf(run)) || "The agent ended without a word";
    const process = run.exit_code ? `The agent’s process ${run.exit_code < 0 ? "was " : ""}` : "";
    const [title, text] = wasRaised(run) ? [cause, RAISED] : [process + cause, KEPT];
    return { icon: "crash", title, text: withLast(text, run) } as const;
  }
  if (run.ending === "lost") {
    const why = run.failure ? visible(run.failure.message) : GONE;
    return {
      icon: "unplug",
      title: last ? `The agent left after event ${last.seq}` : "The agent left",
      text: withLast(`${why} ${KEPT}`, run),
    } as const;
  }
  return null;
}

const RAISED = "The agent’s own code raised this. All before it is kept.";
const GONE = "It did not come back, so this run can’t go on.";
const KEPT = "All until then is kept.";

function withLast(text: string, { last_event }: Run): string {
  return last_event ? `${text} It did last: ${visible(last_event)}.` : text;
}

function ToEvent({ model, row }: { model: Debugger; row: Row }) {
  return (
    <button type="button" class="as-Link" onClick={() => model.reveal(row.id)}>
      Last event: {row.seq}
    </button>
  );
}
