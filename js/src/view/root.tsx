/** The whole view: header, strip, the tabs, what lies over them. */
import type { ComponentChildren, VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Icon } from "../icons/icon";
import { Inspector } from "../inspector";
import type { Debugger } from "../model/debugger";
import type { Comparison, Model, Tab } from "../model/model";
import { connectionProblem } from "../model/status";
import { Button } from "./button";
import type { EndedProps } from "./ended";
import { useKeepFocus } from "./focus";
import { escapeInvisible } from "./format";
import { Header } from "./header";
import type { ViewPlacement } from "./hooks";
import { onKey, useSharedKeys } from "./keys";
import { lazy, withStyles } from "./lazy";
import { CodeLine, Empty, type EmptyProps } from "./notices";
import { HeightHandle, ShellName, Split, useHeight } from "./split";
import { RowMenu } from "./step_buttons";
import { Strip } from "./strip";
import { TAB_LABELS } from "./tab_labels";
import { Panel } from "./tabs";
import { Timeline } from "./timeline/timeline";

interface RootProps {
  model: Debugger;
  place: ViewPlacement;
}

export function Root({ model, place }: RootProps) {
  const root = useRef<HTMLDivElement>(null);
  const [height, setHeight] = useHeight(place);
  useKeepFocus(root);
  useSharedKeys(root);
  useHaltInSight(model, place, root);
  const empty = emptyState(model);
  return (
    <ShellName.Provider value={place.shell}>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: keys bubble up to here from what has the focus */}
      <div
        ref={root}
        class={`as-Root as-shell-${place.shell}`}
        data-lm-suppress-shortcuts="true"
        style={place.resizable ? { "--as-height": `${height}px` } : {}}
        onKeyDown={(event) => onKey(event, model, place, event.currentTarget)}
      >
        <div class="as-View" role="region" aria-label="Agent debugger" tabIndex={-1}>
          <Header model={model} place={place} />
          {empty && !hasTabs(model) ? (
            empty
          ) : (
            <>
              <Strip model={model} place={place} />
              <div class="as-Main">
                <Tabs model={model} empty={empty} />
                <Banner model={model} />
                <BreakpointFailure model={model} />
                <StoreFailure model={model} />
              </div>
            </>
          )}
          <RowMenu model={model} />
          {place.overlay.value === "keys" && <Help place={place} />}
        </div>
        {place.resizable && <HeightHandle height={height} onHeight={setHeight} />}
      </div>
    </ShellName.Provider>
  );
}

/** Where no run is shown, other runs may still be looked for, or taken in from a file. */
function hasTabs(model: Debugger): boolean {
  return model.connection.value.kind === "open" || model.runs.value.length > 0;
}

interface TabsProps {
  model: Debugger;
  /** What stands in place of a run's own tabs. */
  empty: VNode | null;
}

/** The tabs stay in the document once seen, so that each is found again as it was left. */
function Tabs({ model, empty }: TabsProps) {
  const tab = model.tab.value;
  const openedTabs = useRef(new Set<Tab>()).current.add(tab);
  const compared = model.compare.value;
  const later = (id: Tab, content: VNode, isCovered = false) =>
    openedTabs.has(id) && (
      <Panel shown={tab === id && !isCovered} label={TAB_LABELS[id]}>
        {content}
      </Panel>
    );
  return (
    <div class="as-Tabpanels">
      <Panel shown={tab === "timeline"} label="Timeline">
        {empty ?? (
          <Split name="timeline" label="Resize timeline and inspector">
            <Timeline model={model} />
            <Inspector model={model} />
          </Split>
        )}
      </Panel>
      {later("changes", empty ?? <ChangesTab model={model} />)}
      {later("breakpoints", <BreakpointsTab model={model} />)}
      {later(
        "overview",
        empty ?? (
          <OverviewTab model={model}>
            <UsageSections model={model} />
          </OverviewTab>
        ),
      )}
      {later("forks", empty ?? <ForksTab model={model} />)}
      {later("runs", <RunsTab model={model} />, compared !== null)}
      {compared && (
        <Panel shown={tab === "runs"} label="Compare">
          <CompareTab model={model} ids={compared} />
        </Panel>
      )}
    </div>
  );
}

/** Under a cell the run control may stand below the window when the agent first halts: scroll there. */
function useHaltInSight(
  model: Debugger,
  { shell }: ViewPlacement,
  root: { current: HTMLElement | null },
): void {
  const halted = (model.run.value?.pending.length ?? 0) > 0;
  const run = model.run.value?.id;
  // At the first halt of a run alone: later the person may be reading elsewhere.
  useEffect(() => {
    if (!halted || shell !== "inline" || runsBroughtIntoSight.has(run ?? "")) return;
    runsBroughtIntoSight.add(run ?? "");
    root.current?.querySelector(".as-Header")?.scrollIntoView({ block: "nearest" });
  }, [halted, run]);
}

/** Runs whose first halt was shown on this page. */
const runsBroughtIntoSight = new Set<string>();

// ---- Parts of the view that have a chunk of their own: tabs, the comparison of two runs, the list of keys.

export const CompareTab = lazy<{ model: Model; ids: Comparison }>(async () => {
  const { Compare, styles } = await import("../compare");
  return withStyles(Compare, "compare", styles);
});

export const UsageSections = lazy<{ model: Debugger }>(async () => {
  const { Usage, styles } = await import("../usage");
  return withStyles(Usage, "usage", styles);
});

export const OverviewTab = lazy<{ model: Model; children?: ComponentChildren }>(async () => {
  const { Overview, styles } = await import("../overview");
  return withStyles(Overview, "overview", styles);
});

export const ForksTab = lazy<{ model: Debugger }>(async () => {
  const { Forks, styles } = await import("../forks");
  return withStyles(Forks, "forks", styles);
});

export const RunsTab = lazy<{ model: Debugger }>(async () => {
  const { Runs, styles } = await import("../history");
  return withStyles(Runs, "history", styles);
});

export const BreakpointsTab = lazy<{ model: Debugger }>(async () => {
  const { BreakpointsView, styles } = await import("../breakpoints");
  return withStyles(BreakpointsView, "breakpoints", styles);
});

export const Help = lazy<{ place: ViewPlacement }>(async () => {
  const { Help, styles } = await import("./help");
  return withStyles(Help, "help", styles);
});

export const ChangesTab = lazy<{ model: Model }>(async () => {
  const { Changes, styles } = await import("../changes");
  return withStyles(Changes, "changes", styles);
});

// ---- What is told below the view, so that nothing moves for it.

/** How the run ended. */
export function Banner({ model }: { model: Debugger }) {
  const run = model.run.value;
  if (model.tab.value === "overview") return null; // which says all of it
  return run?.ending ? <Ended key={run.id} model={model} run={run} /> : null;
}

/** Its two lines are kept free until it is here. */
const Ended = lazy<EndedProps>(
  async () => (await import("./ended")).Ended,
  <div class="as-Banner">
    <div class="as-Banner-text">
      <b>Ended</b>
      <span class="as-Small">…</span>
    </div>
  </div>,
);

/** That nothing, or not all, can be kept, and why. */
export function StoreFailure({ model }: { model: Debugger }) {
  const why = model.store.value?.trouble;
  if (!why) return null;
  return (
    <div class="as-Banner as-mod-bad" role="alert">
      <Icon name="warn" />
      <div class="as-Banner-text" title={escapeInvisible(why)}>
        <b>Runs can’t be stored</b>
        <span class="as-Muted as-Small">{escapeInvisible(why)}</span>
      </div>
    </div>
  );
}

/** That a breakpoint’s condition failed where the run is halted, and what to do. */
export function BreakpointFailure({ model }: { model: Debugger }) {
  const why = model.target.value?.stop_error;
  if (!why || model.tab.value === "breakpoints") return null;
  const text = `${escapeInvisible(why).replace(/\.?$/, ".")} The run halts where the condition fails: correct the condition, or disable the breakpoint.`;
  return (
    <div class="as-Banner as-mod-bad" role="alert">
      <Icon name="warn" />
      <div class="as-Banner-text" title={text}>
        <b>A breakpoint’s condition failed here</b>
        <span class="as-Muted as-Small">{text}</span>
      </div>
      <button
        type="button"
        class="as-Link"
        onClick={() => {
          model.tab.value = "breakpoints";
        }}
      >
        Open Breakpoints
      </button>
    </div>
  );
}

// ---- Where there is nothing to show: what this is, and what to do next.

/** What stands in place of the run; null where a run can be shown. */
export function emptyState(model: Debugger) {
  const connection = model.connection.value;
  if (model.run.value) return null; // also without a connection: what is here can be read
  const apart = connectionProblem(connection);
  if (apart) return <Apart model={model} title="This view isn’t connected" why={apart} />;
  if (connection.kind === "lost")
    return <Apart model={model} title="The server does not answer" why={AWAY} />;
  if (connection.kind === "connecting" || model.opening.value) return <div />;
  if (model.requestedRun.value === "") return <NoRun />;
  return model.moreRuns.value > 0 ? <div /> : <Awaited model={model} />;
}

function FullView(props: EmptyProps) {
  return (
    <div class="as-Scroll">
      <Empty {...props} />
    </div>
  );
}

const CELL = "%%step my-agent\nrun_my_agent(dbg)";
const PROGRAM = `from agentstepper_nb import AgentStepper

with AgentStepper("my-agent") as dbg:
    with dbg.llm(prompt) as q:
        q.response = model(q.prompt)`;

function NoRun() {
  return (
    <FullView title="Run an agent to step it">
      <p>
        Put this line on top of the cell that runs your agent. Your agent marks its calls with dbg,
        and halts before the first.
      </p>
      <CodeLine code={CELL} copies="%%step my-agent" />
      <p>This is a marked call, in a program that needs no notebook:</p>
      <CodeLine code={PROGRAM} />
    </FullView>
  );
}

function Awaited({ model }: { model: Debugger }) {
  const others = model.runs.value.length > 0;
  const showNewest = (
    <Button
      outline
      hint="Show the run that began last"
      onClick={() => {
        const newest = model.runs.peek().at(-1);
        if (newest) model.openRun(newest.id);
      }}
    >
      Show the newest run
    </Button>
  );
  return (
    <FullView title="This run isn’t here" actions={others && showNewest}>
      <p>
        It has not begun yet, or it was deleted. The view shows it as soon as the Core knows it
        {others ? "; the other runs are in the list above." : "."}
      </p>
    </FullView>
  );
}

const AWAY =
  "It may be restarting, or the network is down. An agent that is halted stays halted and loses " +
  "nothing. The view goes on trying.";

function Apart({ model, title, why }: { model: Debugger; title: string; why: string }) {
  const again = (
    <Button outline icon="retry" hint="Connect now" onClick={model.retry}>
      Retry now
    </Button>
  );
  return (
    <FullView title={title} actions={again}>
      <p>{why}</p>
    </FullView>
  );
}
