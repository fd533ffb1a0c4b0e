/** The whole view: header, strip, the tabs, what lies over them. */
import type { ComponentChildren, VNode } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { Inspector } from "../inspector";
import type { Debugger } from "../model/debugger";
import type { Tab } from "../model/model";
import { Banner, StopTrouble, StoreTrouble } from "./banners";
import { Edge, useHeight } from "./edge";
import { emptyState } from "./empty";
import { Header } from "./header";
import { useSharedKeys } from "./jupyter_keys";
import { useKeepFocus } from "./keep_focus";
import { onKey } from "./keys";
import type { Place } from "./place";
import { ShellName, Split } from "./split";
import { Strip } from "./strip";
import { ChangesTab, CompareTab, Help, RunsTab, StopsTab } from "./tabs";
import { Timeline } from "./timeline/timeline";

interface RootProps {
  model: Debugger;
  place: Place;
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
                <StopTrouble model={model} />
                <StoreTrouble model={model} />
              </div>
            </>
          )}
          {place.overlay.value === "keys" && <Help place={place} />}
        </div>
        {place.resizable && <Edge height={height} onHeight={setHeight} />}
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
  const seen = useRef(new Set<Tab>()).current.add(tab);
  const compared = model.compare.value;
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
      {seen.has("changes") && (
        <Panel shown={tab === "changes"} label="Changes">
          {empty ?? <ChangesTab model={model} />}
        </Panel>
      )}
      {seen.has("stops") && (
        <Panel shown={tab === "stops"} label="Stops">
          <StopsTab model={model} />
        </Panel>
      )}
      {seen.has("runs") && (
        <Panel shown={tab === "runs" && !compared} label="Runs">
          <RunsTab model={model} />
        </Panel>
      )}
      {compared && (
        <Panel shown={tab === "runs"} label="Compare">
          <CompareTab model={model} ids={compared} />
        </Panel>
      )}
    </div>
  );
}

interface PanelProps {
  shown: boolean;
  label: string;
  children: ComponentChildren;
}

function Panel({ shown, label, children }: PanelProps) {
  const panel = useRef<HTMLDivElement>(null);
  const places = useRef(new Map<Element, number>());
  // A hidden element forgets how far it was scrolled.
  useLayoutEffect(() => {
    const scrollers = panel.current?.querySelectorAll(".as-Scroll") ?? [];
    if (!shown) return;
    for (const [element, top] of places.current) element.scrollTop = top;
    return () => {
      places.current.clear();
      for (const element of scrollers) places.current.set(element, element.scrollTop);
    };
  }, [shown]);
  return (
    <div ref={panel} class="as-Tabpanel" role="tabpanel" aria-label={label} hidden={!shown}>
      {children}
    </div>
  );
}

/** Under a cell the run control may stand below the window when the agent first halts: scroll there. */
function useHaltInSight(
  model: Debugger,
  { shell }: Place,
  root: { current: HTMLElement | null },
): void {
  const halted = (model.run.value?.pending.length ?? 0) > 0;
  const run = model.run.value?.id;
  // At the first halt of a run alone: later the person may be reading elsewhere.
  useEffect(() => {
    if (!halted || shell !== "inline" || seen.has(run ?? "")) return;
    seen.add(run ?? "");
    root.current?.querySelector(".as-Header")?.scrollIntoView({ block: "nearest" });
  }, [halted, run]);
}

/** Runs whose first halt was shown on this page. */
const seen = new Set<string>();
