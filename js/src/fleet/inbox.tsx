/** The inbox: runs that wait for a person, the one that waits longest first. */

import { Icon } from "../icons/icon";
import type { FleetSummary, HaltedRun } from "../protocol/runtime.gen";
import { Button } from "../view/button";
import { consumeKey } from "../view/focus";
import { escapeInvisible, formatClock, formatCount, formatElapsed } from "../view/format";
import { cx, useNow } from "../view/hooks";
import { useLines } from "../view/list";
import { Empty } from "../view/notices";
import type { FleetModel } from "./model";

/** The height of a run's two lines, as fleet.css has it. */
const HEIGHT = 46;

interface InboxProps {
  model: FleetModel;
  onOpen(run: string): void;
}

export function Inbox({ model, onOpen }: InboxProps) {
  const fleet = model.fleet.value;
  if (!fleet) return <div class="as-Pane" />;
  if (fleet.inbox.length === 0) return <NothingHalted />;
  const more = fleet.halted - fleet.inbox.length;
  return (
    <div class="as-Pane">
      <InboxBar model={model} fleet={fleet} />
      <HaltedRuns model={model} runs={fleet.inbox} onOpen={onOpen} />
      {more > 0 && (
        <p class="as-FleetMore as-Muted as-Small">
          {`The ${fleet.inbox.length} that wait longest are listed; ${formatCount(more, "run")} more wait.`}
        </p>
      )}
    </div>
  );
}

function NothingHalted() {
  return (
    <Empty title="No agent waits for you">
      <p>
        An agent that halts at a breakpoint, or asks for an approval, is listed here, the one that
        waits longest first.
      </p>
    </Empty>
  );
}

/** What is told to those that are chosen, to all others, or to all. */
function InboxBar({ model, fleet }: { model: FleetModel; fleet: FleetSummary }) {
  const chosen = [...model.chosen.value];
  const disabledReason = model.readOnlyReason.value ?? model.commands.progress.value;
  const others = fleet.halted - chosen.length;
  const seen = { halted_until: fleet.at };
  if (chosen.length === 0) {
    return (
      <div class="as-PaneBar as-FleetBar">
        <span class="as-Muted as-Small as-Ellipsis">Oldest first</span>
        <span class="as-Spring" />
        <Button
          outline
          icon="play"
          hint="Let all halted runs go on, but for approvals"
          disabledReason={disabledReason}
          onClick={() => void model.commands.continueRuns(seen)}
        >
          Continue all
        </Button>
      </div>
    );
  }
  return (
    <div class="as-PaneBar as-FleetBar">
      <Button icon="close" hint="Choose none (Esc)" onClick={() => model.setChosen([])} />
      <span class="as-Spring" />
      <Button
        outline
        icon="play"
        hint="Let the chosen runs go on, but for approvals"
        disabledReason={disabledReason}
        onClick={() => void model.commands.continueRuns({ ...seen, runs: chosen })}
      >
        {`Continue ${chosen.length}`}
      </Button>
      <Button
        outline
        hint="Let all halted runs go on but the chosen ones, and but for approvals"
        disabledReason={disabledReason ?? (others > 0 ? null : "All halted runs are chosen")}
        onClick={() => void model.commands.continueRuns({ ...seen, but: chosen })}
      >
        {`Continue all but ${chosen.length}`}
      </Button>
    </div>
  );
}

interface HaltedRunsProps extends InboxProps {
  runs: readonly HaltedRun[];
}

function HaltedRuns({ model, runs, onOpen }: HaltedRunsProps) {
  const { scroller, at, indexes, setActive, go, from, targetFrom, onFocusIn } = useLines({
    lines: runs,
    idOf: ({ run_id }) => run_id,
    row: ".as-FleetRun",
    data: "run",
    height: HEIGHT,
    head: 0,
    selected: undefined,
    list: "inbox",
  });
  const now = useNow(true);
  const chosen = model.chosen.value;
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const there = from(event);
    if (!there) return;
    const to = targetFrom(event.key, there.index);
    const { run_id } = there.line;
    if (to !== undefined) go(to);
    else if (event.key === "Enter" || event.key === "o") onOpen(run_id);
    else if (event.key === " ") model.toggleChosen(run_id);
    else if (event.key === "Escape") model.setChosen([]);
    else return;
    consumeKey(event);
  };
  return (
    <div
      ref={scroller}
      class="as-Scroll as-FleetRuns"
      role="grid"
      aria-label="Halted runs"
      aria-rowcount={runs.length}
      aria-multiselectable
      onFocusIn={onFocusIn}
      onKeyDown={onKeyDown}
    >
      <div class="as-Rows" role="rowgroup" style={{ height: `${runs.length * HEIGHT}px` }}>
        {indexes.map((index) => {
          const run = runs[index];
          if (!run) return null;
          return (
            <RunLine
              key={run.run_id}
              run={run}
              index={index + 1}
              top={index * HEIGHT}
              active={index === at}
              chosen={chosen.has(run.run_id)}
              now={now}
              onOpen={() => {
                setActive(run.run_id);
                onOpen(run.run_id);
              }}
              onChoose={() => {
                setActive(run.run_id);
                model.toggleChosen(run.run_id);
              }}
            />
          );
        })}
      </div>
    </div>
  );
}

interface RunLineProps {
  run: HaltedRun;
  index: number;
  top: number;
  active: boolean;
  chosen: boolean;
  now: number;
  onOpen(): void;
  onChoose(): void;
}

function RunLine({ run, index, top, active, chosen, now, onOpen, onChoose }: RunLineProps) {
  const name = escapeInvisible(run.agent_id ?? run.name);
  const since = run.halted_at === null ? null : formatClock(run.halted_at);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the list takes the keys
    <div
      class="as-FleetRun"
      role="row"
      data-run={run.run_id}
      aria-rowindex={index}
      aria-selected={chosen}
      tabIndex={active ? 0 : -1}
      style={{ top: `${top}px` }}
      title={runTitle(run)}
      onClick={(event) => (event.ctrlKey || event.metaKey ? onChoose() : onOpen())}
    >
      <span class="as-SessRow-pick" role="gridcell">
        <input
          type="checkbox"
          tabIndex={-1}
          checked={chosen}
          aria-label={`Choose ${name}`}
          title="Choose several runs (Space)"
          onClick={(event) => event.stopPropagation()}
          onChange={onChoose}
        />
      </span>
      <span class="as-FleetRun-text" role="gridcell">
        <span class="as-FleetRun-line">
          <span class="as-FleetRun-name as-Ellipsis">{name}</span>
          <Why run={run} />
          <span class="as-Spring" />
          {since && (
            <span class="as-Muted as-Small" title={`Since ${since}`}>
              {formatElapsed(now - (run.halted_at ?? now))}
            </span>
          )}
        </span>
        <span class="as-FleetRun-line as-Small">
          <span class="as-FleetRun-where">{escapeInvisible(run.where)}</span>
          <span class="as-Muted as-Ellipsis">{escapeInvisible(run.summary)}</span>
        </span>
      </span>
      <span class="as-FleetRun-open" aria-hidden="true">
        <Icon name="open" small />
      </span>
    </div>
  );
}

/** Why it halted, in a word. */
function Why({ run }: { run: HaltedRun }) {
  if (run.is_approval) return <span class={cx("as-Tag", "as-You")}>Approval</span>;
  if (run.breakpoints > 0) return <span class="as-Tag">Breakpoint</span>;
  return <span class="as-Tag">Step</span>;
}

function runTitle({ name, run_id, session_id, pending }: HaltedRun): string {
  return [
    `Open in the debugger (Enter)`,
    `Run ${name}`,
    session_id ? `Session ${session_id}` : `Run id ${run_id}`,
    ...(pending > 1 ? [`${pending} halt points wait`] : []),
  ]
    .map(escapeInvisible)
    .join("\n");
}
