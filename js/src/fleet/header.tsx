/** The header: how all agents stand, what is told to all of them, and how many stand how. */
import { viewStatus } from "../model/status";
import type { FleetStatus, FleetSummary } from "../protocol/runtime.gen";
import { Button } from "../view/button";
import { formatCost, formatTokenCount, totalTokens, usageText } from "../view/figures";
import { useRovingTabIndex } from "../view/focus";
import { formatCount } from "../view/format";
import { RetryNow, StateLine, StateMark } from "../view/notices";
import type { FleetModel } from "./model";
import { countByStatus, countSessions, FLEET_STATUSES, STATUS_NAMES } from "./status";

export function Header({ model }: { model: FleetModel }) {
  return (
    <div class="as-Header as-FleetHeader">
      <FleetState model={model} />
      <span class="as-Spring" />
      <Figures model={model} />
      <Controls model={model} />
    </div>
  );
}

function FleetState({ model }: { model: FleetModel }) {
  const connection = model.client.connection.value;
  const away = connection.kind !== "open";
  const status = away
    ? viewStatus(connection, { run: null, pending: [], isAwaited: false, opening: false })
    : summarize(model.fleet.value);
  return (
    <StateLine
      status={status}
      connection={connection}
      live="polite"
      watching="This login may watch, not control"
    />
  );
}

/** Who waits for the person first, then what is at work. */
function summarize(fleet: FleetSummary | null): ReturnType<typeof viewStatus> {
  if (!fleet) return { words: "Counting…", detail: "", icon: "diamond", tone: "off" };
  const counts = countByStatus(fleet);
  const detail = formatCount(countSessions(fleet), "session");
  if (fleet.halted > 0) {
    const waits = fleet.halted === 1 ? "waits" : "wait";
    const words = `${formatCount(fleet.halted, "run")} ${waits} for you`;
    return { words, detail, icon: "halted", tone: "you" };
  }
  const working = (counts.get("running") ?? 0) + (counts.get("retrying") ?? 0);
  if (working > 0) {
    const words = `${working.toLocaleString("en-US")} running`;
    return { words, detail, icon: "play", tone: "agent" };
  }
  return { words: "None running", detail, icon: "pause", tone: "off" };
}

function Controls({ model }: { model: FleetModel }) {
  const roving = useRovingTabIndex<HTMLDivElement>();
  return (
    <div class="as-Controls" role="toolbar" aria-label="All agents" {...roving}>
      <RetryNow link={model.client} label="as-x-medium" />
      <Button
        icon="pause"
        name="Halt all"
        hint="Halt each run at its next halt point"
        disabledReason={haltDisabledReason(model)}
        onClick={() => void model.commands.haltAll()}
      >
        <span class="as-FleetLabel">Halt all</span>
      </Button>
    </div>
  );
}

function haltDisabledReason({ readOnlyReason, commands, fleet }: FleetModel): string | null {
  if (readOnlyReason.value !== null) return readOnlyReason.value;
  if (commands.progress.value !== null) return commands.progress.value;
  return fleet.value?.going ? null : "No run continues";
}

// ---- How many stand how, and the figures of all together.

export function Counts({ model }: { model: FleetModel }) {
  const fleet = model.fleet.value;
  const roving = useRovingTabIndex<HTMLDivElement>();
  const counts = countByStatus(fleet);
  const chosen = model.filter.value.status;
  const shown = STATUS_NAMES.filter((status) => counts.get(status) || status === chosen);
  return (
    <div class="as-FleetCounts">
      <div
        class="as-FleetCounts-states"
        role="toolbar"
        aria-label="Show only sessions in one state"
        {...roving}
      >
        {shown.map((status) => (
          <Count
            key={status}
            status={status}
            count={counts.get(status) ?? 0}
            pressed={status === chosen}
            onClick={() => model.updateFilter({ status: status === chosen ? "" : status })}
          />
        ))}
      </div>
      <Figures model={model} />
    </div>
  );
}

interface CountProps {
  status: FleetStatus;
  count: number;
  pressed: boolean;
  onClick(): void;
}

function Count({ status, count, pressed, onClick }: CountProps) {
  const { words, explanation } = FLEET_STATUSES[status];
  const figure = count.toLocaleString("en-US");
  return (
    <button
      type="button"
      class="as-FleetCount"
      aria-pressed={pressed}
      data-status={status}
      title={`${words}: ${explanation}.\n${pressed ? "Show all states" : "Show only these"}`}
      onClick={onClick}
    >
      <StateMark status={FLEET_STATUSES[status]} />
      <b>{figure}</b> <span class="as-FleetCount-words">{words}</span>
    </button>
  );
}

/** In the header where there is room, else under the counts: fleet.css shows one of the two. */
function Figures({ model }: { model: FleetModel }) {
  const fleet = model.fleet.value;
  if (!fleet) return null;
  const { usage, workers } = fleet;
  const cost = formatCost(usage);
  const steps = Math.round(fleet.steps_per_minute).toLocaleString("en-US");
  return (
    <div class="as-Figures">
      <span title="Steps that background agents did in the last minute">
        <b>{steps}</b> steps/min
      </span>
      <span title={`All runs of this Core: ${usageText(usage)}`}>
        <b>{formatTokenCount(totalTokens(usage))}</b> tokens
        {cost !== null && (
          <>
            {" · "}
            <b>{cost}</b>
          </>
        )}
      </span>
      <span title="Workers that are connected to this Core">
        <b>{workers}</b> {workers === 1 ? "worker" : "workers"}
      </span>
    </div>
  );
}
