/** One session of the list: a line of cells, or two lines where there is no room for them. */

import type { AgentState } from "../protocol/runtime.gen";
import { escapeInvisible, formatClock, formatCount, formatDate } from "../view/format";
import { StateMark } from "../view/notices";
import {
  lastMessage,
  oneLine,
  PENDING_ACTION_LABELS,
  type SessionActionKind,
  shortDate,
  shortId,
  statusOf,
} from "./status";

export interface RowProps {
  state: AgentState;
  /** Its number in the list, from 1, the head being the first. */
  index: number;
  top: number;
  active: boolean;
  /** Whether its steps are looked at. */
  current: boolean;
  chosen: boolean;
  narrow: boolean;
  /** What it was told to do and hasn't done yet. */
  pendingAction: SessionActionKind | undefined;
  onSelect(): void;
  onChoose(): void;
}

export function SessionRow(props: RowProps) {
  const { state, index, top, active, current, chosen, narrow, onSelect, onChoose } = props;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the list takes the keys
    <div
      class="as-SessRow"
      role="row"
      data-session={state.session_id}
      aria-rowindex={index}
      aria-selected={chosen}
      aria-current={current ? "true" : undefined}
      tabIndex={active ? 0 : -1}
      style={{ top: `${top}px` }}
      onClick={(event) => (event.ctrlKey || event.metaKey ? onChoose() : onSelect())}
    >
      <span class="as-SessRow-pick" role="gridcell">
        <input
          type="checkbox"
          tabIndex={-1}
          checked={chosen}
          aria-label={`Choose ${escapeInvisible(state.agent_id)}`}
          title="Choose several sessions (Space)"
          onClick={(event) => event.stopPropagation()}
          onChange={onChoose}
        />
      </span>
      {narrow ? <TwoLines {...props} /> : <Cells {...props} />}
    </div>
  );
}

function Cells({ state, pendingAction }: RowProps) {
  return (
    <>
      <span class="as-SessRow-state" role="gridcell">
        <SessionState state={state} pendingAction={pendingAction} />
      </span>
      <span class="as-SessRow-name" role="gridcell" title={nameTitle(state)}>
        <Name state={state} />
      </span>
      <span class="as-Ellipsis as-Muted" role="gridcell" title={escapeInvisible(state.moniker)}>
        {escapeInvisible(state.moniker)}
      </span>
      <span class="as-SessRow-figure" role="gridcell">
        {state.iteration.toLocaleString("en-US")}
      </span>
      <LastMessage state={state} role="gridcell" />
      <span class="as-SessRow-figure" role="gridcell" title={sinceTitle(state)}>
        {shortDate(state.created_at)}
      </span>
    </>
  );
}

function TwoLines({ state, pendingAction }: RowProps) {
  return (
    <span class="as-SessRow-two" role="gridcell">
      <span class="as-SessRow-line">
        <span class="as-SessRow-state">
          <SessionState state={state} pendingAction={pendingAction} />
        </span>
        <span class="as-SessRow-name" title={nameTitle(state)}>
          <Name state={state} />
        </span>
        <span class="as-Spring" />
        <span class="as-Muted as-Small" title={sinceTitle(state)}>
          {shortDate(state.created_at)}
        </span>
      </span>
      <span class="as-SessRow-line as-Small as-Muted">
        <span class="as-SessRow-iteration">{formatCount(state.iteration, "step")}</span>
        <LastMessage state={state} />
      </span>
    </span>
  );
}

export function nameTitle({ agent_id, session_id, moniker, config }: AgentState): string {
  const lines = [`Agent ${agent_id}`, `Session ${session_id}`, `Moniker ${moniker}`];
  if (config !== null && config !== undefined)
    lines.push(oneLine(`Config ${JSON.stringify(config)}`));
  return lines.map(escapeInvisible).join("\n");
}

function sinceTitle({ created_at, updated_at }: AgentState): string {
  return `Created ${formatDate(created_at)} (${formatClock(created_at)})\nLast changed ${formatClock(updated_at)}`;
}

function Name({ state }: { state: AgentState }) {
  return (
    <>
      <span class="as-SessRow-title as-Ellipsis">{escapeInvisible(state.agent_id)}</span>
      <span class="as-SessRow-id as-Muted as-Small">
        {escapeInvisible(shortId(state.session_id))}
      </span>
    </>
  );
}

export function SessionState({
  state,
  pendingAction,
}: {
  state: AgentState;
  pendingAction: SessionActionKind | undefined;
}) {
  const status = statusOf(state);
  const { words, explanation: means } = status;
  const told = pendingAction && PENDING_ACTION_LABELS[pendingAction];
  return (
    <span class="as-SessState" title={told ?? `${words}: ${means}`}>
      <StateMark status={status} />
      <span class={told ? "as-Ellipsis as-Muted" : "as-Ellipsis"}>{told ?? words}</span>
    </span>
  );
}

/** What it said last, as text: agents write it. */
function LastMessage({ state, role }: { state: AgentState; role?: "gridcell" }) {
  const words = escapeInvisible(lastMessage(state));
  const failed = state.status === "error";
  return (
    <span
      class={`as-Ellipsis as-SessRow-words${failed ? " as-Bad" : ""}`}
      role={role}
      title={words}
    >
      {words}
    </span>
  );
}
