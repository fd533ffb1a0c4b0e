/** The whole view: a header, the list of sessions, and what is looked at beside it. */
import { useRef, useState } from "preact/hooks";
import type { AgentState } from "../protocol/runtime.gen";
import { openRun, type RunAccess } from "../shells/server";
import { useKeepFocus } from "../view/focus";
import type { ViewPlacement } from "../view/hooks";
import { useSharedKeys } from "../view/keys";
import { CommandHint, NotConnected } from "../view/notices";
import { HeightHandle, ShellName, Split, useHeight, useNarrow } from "../view/split";
import { ActionPanel } from "./action_panel";
import { Header, openDisabledReason } from "./header";
import type { SessionsModel } from "./model";
import { ActionNoticeBar, awayReason, NoAgents, NoMatchingSessions } from "./notices";
import { SidePanel } from "./side_panel";
import { matchesSessionFilter, type Sorting, sortSessions } from "./status";
import { FilterBar, SessionTable } from "./table";

/** Up to this width the list has two lines a session; as widths.css has it. */
const TWO_LINES_TO = 620;
/** Up to this width what is looked at stands under the list; as widths.css has it. */
const STACKED_TO = 620;

/** Where the focus may go when what had it goes, the best first. */
const FOCUS_FALLBACKS = ['.as-SessRow[tabindex="0"]', '.as-Tab[aria-selected="true"]', ".as-View"];

interface RootProps {
  model: SessionsModel;
  place: ViewPlacement;
  runAccess: RunAccess;
}

export function Root({ model, place, runAccess }: RootProps) {
  const root = useRef<HTMLDivElement>(null);
  const [height, setHeight] = useHeight(place);
  useKeepFocus(root, FOCUS_FALLBACKS);
  useSharedKeys(root);
  const [command, setCommand] = useState<string | null>(null);
  const onOpen = (state: AgentState) => {
    const { run_id } = state;
    if (openDisabledReason(state) === null && run_id !== null)
      setCommand(openRun(run_id, runAccess));
  };
  return (
    <ShellName.Provider value="sessions">
      {/* biome-ignore lint/a11y/noStaticElementInteractions: keys bubble up to here from what has the focus */}
      <div
        ref={root}
        class="as-Root as-shell-inline as-Sess"
        data-lm-suppress-shortcuts="true"
        style={place.resizable ? { "--as-height": `${height}px` } : {}}
        onKeyDown={focusSearchOnSlash}
      >
        <div class="as-View" role="region" aria-label="Agents" tabIndex={-1}>
          <Header model={model} onOpen={onOpen} />
          <div class="as-Main">
            <Split
              name="sessions"
              label="Resize the list of sessions"
              class="as-mod-sessions"
              narrow={STACKED_TO}
            >
              <SessionList model={model} onOpen={onOpen} />
              <SidePanel model={model} />
            </Split>
            {command !== null && (
              <CommandHint
                class="as-SessNews"
                command={command}
                onDismiss={() => setCommand(null)}
              />
            )}
            <ActionNoticeBar notice={model.actions.notice} />
          </div>
        </div>
        {place.resizable && <HeightHandle height={height} onHeight={setHeight} />}
      </div>
    </ShellName.Provider>
  );
}

interface SessionListProps {
  model: SessionsModel;
  onOpen(state: AgentState): void;
}

function SessionList({ model, onOpen }: SessionListProps) {
  const pane = useRef<HTMLElement>(null);
  const narrow = useNarrow(pane, TWO_LINES_TO);
  const lines = useSortedSessions(model);
  const ids = lines.map(({ session_id }) => session_id);
  const empty = emptyState(model, lines.length);
  return (
    <section ref={pane} class="as-Pane as-SessList" aria-label="All sessions">
      {model.states.value.size > 0 && <FilterBar model={model} narrow={narrow} ids={ids} />}
      {empty ?? <SessionTable model={model} lines={lines} narrow={narrow} onOpen={onOpen} />}
      <ActionPanel model={model} />
    </section>
  );
}

function focusSearchOnSlash(event: KeyboardEvent): void {
  const { target, currentTarget } = event;
  if (event.key !== "/" || !(target instanceof HTMLElement)) return;
  if (target.matches("input, textarea, select") || event.ctrlKey || event.metaKey) return;
  (currentTarget as HTMLElement).querySelector<HTMLElement>(".as-SessSearch")?.focus();
  event.preventDefault();
  event.stopPropagation();
}

// ---- The sessions of the list, in an order that stands still while somebody looks.

interface SortedSessions {
  sorting: Sorting;
  /** The sessions that there were. */
  n: number;
  ids: readonly string[];
}

/**
 * The sessions to show. They are sorted anew when sessions come, or when the person asks for another
 * order: one whose figures grow keeps its place.
 */
export function useSortedSessions(model: SessionsModel): readonly AgentState[] {
  const kept = useRef<SortedSessions | null>(null);
  const states = model.states.value; // sessions come, and never go
  const sorting = model.sorting.value;
  const filter = model.filter.value;
  if (kept.current?.sorting !== sorting || kept.current.n !== states.size) {
    const ids = sortSessions(states.values(), sorting).map(({ session_id }) => session_id);
    kept.current = { sorting, n: states.size, ids };
  }
  return model.statesOf(kept.current.ids).filter((state) => matchesSessionFilter(state, filter));
}

// ---- Where there is no session to list: what this is, and what to do next.

/** What stands in place of the list; null where sessions are listed, or may soon be. */
export function emptyState(model: SessionsModel, listed: number) {
  const connection = model.client.connection.value;
  const all = model.states.value.size;
  const apart = awayReason(connection);
  if (all === 0 && apart) return <NotConnected link={model.client} why={apart} />;
  if (all === 0) return model.isLoaded.value ? <NoAgentsYet /> : <div />;
  return listed === 0 ? <NoMatches model={model} /> : null;
}

function NoAgentsYet() {
  return (
    <NoAgents>
      An agent that is created does one step after the other in a worker, whatever this notebook
      does meanwhile. It shows here at once:
    </NoAgents>
  );
}

function NoMatches({ model }: { model: SessionsModel }) {
  return (
    <NoMatchingSessions onShowAll={() => model.updateFilter({ text: "", state: "" })}>
      The filter looks at agents, sessions, monikers and last words.
    </NoMatchingSessions>
  );
}
