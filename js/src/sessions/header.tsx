/** The header: how many agents there are and how they stand, and what can be told to those selected. */
import { viewStatus } from "../model/status";
import type { AgentState, SessionStatus } from "../protocol/runtime.gen";
import { Button } from "../view/button";
import { useRovingTabIndex } from "../view/focus";
import { escapeInvisible, formatCount } from "../view/format";
import { RetryNow, StateLine } from "../view/notices";
import type { SessionsModel } from "./model";
import { STATUSES } from "./status";

interface HeaderProps {
  model: SessionsModel;
  onOpen(state: AgentState): void;
}

export function Header({ model, onOpen }: HeaderProps) {
  return (
    <div class="as-Header as-SessHeader">
      <StatusSummary model={model} />
      <Target model={model} />
      <span class="as-Spring" />
      <Controls model={model} onOpen={onOpen} />
    </div>
  );
}

function StatusSummary({ model }: { model: SessionsModel }) {
  const connection = model.client.connection.value;
  const away = connection.kind !== "open";
  const status = away
    ? viewStatus(connection, { run: null, pending: [], isAwaited: false, opening: false })
    : summarizeStates([...model.states.value.values()]);
  return (
    <StateLine
      status={status}
      connection={connection}
      live={away ? "polite" : "off"}
      watching="This login may watch, not control"
    />
  );
}

/** "3 running" and beside it "of 12 sessions: 2 paused, 1 error". */
function summarizeStates(states: readonly AgentState[]): ReturnType<typeof viewStatus> {
  const counts = new Map<SessionStatus, number>();
  for (const { status } of states) counts.set(status, (counts.get(status) ?? 0) + 1);
  const running = counts.get("running") ?? 0;
  counts.delete("running");
  const others = Object.entries(STATUSES).flatMap(([status, { words }]) => {
    const n = counts.get(status as SessionStatus);
    return n ? [`${n} ${words.toLowerCase()}`] : [];
  });
  if (states.length === 0)
    return { words: "No sessions", detail: "", icon: "diamond", tone: "off" };
  const detail = `of ${formatCount(states.length, "session")}${others.length > 0 ? `: ${others.join(", ")}` : ""}`;
  if (running > 0) {
    const words = `${running.toLocaleString("en-US")} running`;
    return { words, detail, icon: "play", tone: "agent" };
  }
  return { words: "None running", detail, icon: "pause", tone: "off" };
}

/** Whom the controls are for. */
function Target({ model }: { model: SessionsModel }) {
  const chosen = model.chosen.value.size;
  const [first] = model.targets.value;
  if (chosen > 0) {
    return (
      <span class="as-SessFor">
        <span class="as-Ellipsis">{formatCount(chosen, "session")}</span>
        <Button icon="close" hint="Choose none (Esc)" onClick={() => model.setChosen([])} />
      </span>
    );
  }
  if (!first) return null;
  const name = escapeInvisible(first.agent_id);
  return (
    <span class="as-SessFor" title={`${name}\n${escapeInvisible(first.session_id)}`}>
      <span class="as-Ellipsis">{name}</span>
    </span>
  );
}

function Controls({ model, onOpen }: HeaderProps) {
  const roving = useRovingTabIndex<HTMLDivElement>();
  const [first] = model.targets.value;
  const pause = model.actionDisabledReason("pause");
  const resume = model.actionDisabledReason("resume");
  return (
    <div class="as-Controls" role="toolbar" aria-label="Sessions control" {...roving}>
      <RetryNow link={model.client} label="as-x-medium" />
      <Button
        icon="play"
        name="Resume"
        hint="Resume (r)"
        disabledReason={resume}
        primary={resume === null}
        onClick={() => model.sendAction("resume")}
      >
        <span class="as-SessLabel">Resume</span>
      </Button>
      <Button
        icon="pause"
        name="Pause"
        hint="Pause after the step that is under way (p)"
        disabledReason={pause}
        primary={pause === null && resume !== null}
        onClick={() => model.sendAction("pause")}
      >
        <span class="as-SessLabel">Pause</span>
      </Button>
      <Button
        icon="note"
        name="Interrupt"
        hint="Send a message to the next step: in place of earlier messages (i), or after them (s)"
        disabledReason={model.actionDisabledReason("interrupt")}
        onClick={() => model.sendAction("interrupt")}
      >
        <span class="as-SessLabel">Interrupt</span>
      </Button>
      <Button
        icon="stop"
        name="Destroy"
        hint="End the session for good (Delete)"
        disabledReason={model.actionDisabledReason("destroy")}
        onClick={() => model.sendAction("destroy")}
      >
        <span class="as-SessLabel">Destroy</span>
      </Button>
      <span class="as-Rule as-x-medium" />
      <Button
        icon="open"
        hint="Open in the debugger (o)"
        disabledReason={openDisabledReason(first, model.targets.value.length)}
        onClick={() => first && onOpen(first)}
      />
    </div>
  );
}

/** Why no run can be opened; null where one can. */
export function openDisabledReason(state: AgentState | undefined, n = 1): string | null {
  if (!state) return "Select a session first";
  if (n > 1) return "Select one session to open it in the debugger";
  return state.run_id === null ? "The session has no run yet: no worker has started it" : null;
}
