/** How a run ended, where that needs more than a word. It stands below, so that nothing moves for it. */
import { Icon } from "../icons/icon";
import type { Debugger } from "../model/debugger";
import type { Row, Run } from "../model/model";
import { visible } from "./visible";

export function Banner({ model }: { model: Debugger }) {
  const run = model.run.value;
  const last = model.rows.value.findLast((row) => row.kind !== "program_finished");
  const said = run && words(run, last);
  if (!said) return null;
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
    const { failure } = run;
    const title = failure ? visible(`${failure.type}: ${failure.message}`) : "The agent crashed";
    return {
      icon: "crash",
      title,
      text: "The agent’s own code raised this. All before it is kept.",
    } as const;
  }
  if (run.ending === "lost") {
    const text = "Its process is gone, so this run can’t go on. All until then is kept.";
    return {
      icon: "unplug",
      title: last ? `The agent left after event ${last.seq}` : "The agent left",
      text,
    } as const;
  }
  return null;
}

function ToEvent({ model, row }: { model: Debugger; row: Row }) {
  return (
    <button type="button" class="as-Link" onClick={() => model.reveal(row.id)}>
      Last event: {row.seq}
    </button>
  );
}
