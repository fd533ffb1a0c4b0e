/** The whole view: header, strip, the two tabs, what lies over them. */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { Inspector } from "../inspector";
import type { Debugger } from "../model/debugger";
import { Banner } from "./banner";
import { ChangesTab } from "./changes_tab";
import { Edge, useHeight } from "./edge";
import { emptyState } from "./empty";
import { Header } from "./header";
import { Help } from "./help";
import { useKeepFocus } from "./keep_focus";
import { onKey } from "./keys";
import type { Place } from "./place";
import { ShellName, Split } from "./split";
import { Strip } from "./strip";
import { Timeline } from "./timeline/timeline";

interface RootProps {
  model: Debugger;
  place: Place;
}

export function Root({ model, place }: RootProps) {
  const root = useRef<HTMLDivElement>(null);
  const [height, setHeight] = useHeight(place);
  useKeepFocus(root);
  const empty = emptyState(model);
  return (
    <ShellName.Provider value={place.shell}>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: keys bubble up to here from what has the focus */}
      <div
        ref={root}
        class={`as-Root as-shell-${place.shell}`}
        data-lm-suppress-shortcuts="true"
        style={place.resizable ? { "--as-height": `${height}px` } : {}}
        onFocusIn={({ target }) => keepJupyterOut(target)}
        onKeyDown={(event) => onKey(event, model, place, event.currentTarget)}
      >
        <div class="as-View" role="region" aria-label="Agent debugger" tabIndex={-1}>
          <Header model={model} place={place} />
          {empty ?? (
            <>
              <Strip model={model} place={place} />
              <Tabs model={model} />
              <Banner model={model} />
            </>
          )}
          {place.overlay.value === "keys" && <Help place={place} />}
        </div>
        {place.resizable && <Edge height={height} onHeight={setHeight} />}
      </div>
    </ShellName.Provider>
  );
}

/**
 * JupyterLab's own shortcuts stay out while the focus is in the view: `x` would cut the cell. The mark
 * on the root isn't enough, since its selectors end in `:focus` and match before the root is reached.
 */
function keepJupyterOut(target: EventTarget | null): void {
  if (target instanceof Element) target.setAttribute("data-lm-suppress-shortcuts", "true");
}

/** Both tabs stay in the document once seen, so that each is found again as it was left. */
function Tabs({ model }: { model: Debugger }) {
  const tab = model.tab.value;
  const seen = useRef(false);
  if (tab === "changes") seen.current = true;
  return (
    <div class="as-Tabpanels">
      <Panel shown={tab === "timeline"} label="Timeline">
        <Split name="timeline" label="Resize timeline and inspector">
          <Timeline model={model} />
          <Inspector model={model} />
        </Split>
      </Panel>
      {seen.current && (
        <Panel shown={tab === "changes"} label="Changes">
          <ChangesTab model={model} />
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
