/** The whole view: how all agents stand, who waits for a person, what failed, and the sessions. */
import { useRef, useState } from "preact/hooks";
import type { FleetSession } from "../protocol/runtime.gen";
import { ActionNoticeBar, awayReason, NoAgents, NoMatchingSessions } from "../sessions/notices";
import { openRun, type RunAccess } from "../shells/server";
import { useKeepFocus } from "../view/focus";
import type { ViewPlacement } from "../view/hooks";
import { useSharedKeys } from "../view/keys";
import { CommandHint, NotConnected, NoticeBar } from "../view/notices";
import { HeightHandle, ShellName, Split, useHeight, useNarrow } from "../view/split";
import { Panel, TabList } from "../view/tabs";
import { Errors } from "./errors";
import { Counts, Header } from "./header";
import { Inbox } from "./inbox";
import type { FleetModel, FleetTab } from "./model";
import { countSessions } from "./status";
import { openDisabledReason, Story } from "./story";
import { FilterBar, SessionTable } from "./table";

/** Up to this width the list has two lines a session; as widths.css has it. */
const TWO_LINES_TO = 620;
/** Up to this width the sessions stand under the inbox; as widths.css has it. */
const STACKED_TO = 620;

/** Where the focus may go when what had it goes, the best first. */
const FOCUS_FALLBACKS = [
  '.as-FleetRun[tabindex="0"]',
  '.as-SessRow[tabindex="0"]',
  '.as-Tab[aria-selected="true"]',
  ".as-View",
];

interface RootProps {
  model: FleetModel;
  place: ViewPlacement;
  runAccess: RunAccess;
}

export function Root({ model, place, runAccess }: RootProps) {
  const root = useRef<HTMLDivElement>(null);
  const [height, setHeight] = useHeight(place);
  useKeepFocus(root, FOCUS_FALLBACKS);
  useSharedKeys(root);
  const [command, setCommand] = useState<string | null>(null);
  const onOpen = (run: string) => setCommand(openRun(run, runAccess));
  const onOpenSession = (session: FleetSession) => {
    if (openDisabledReason(session) === null && session.run_id !== null) onOpen(session.run_id);
  };
  return (
    <ShellName.Provider value="fleet">
      <div
        ref={root}
        class="as-Root as-shell-inline as-Sess as-Fleet"
        data-lm-suppress-shortcuts="true"
        style={place.resizable ? { "--as-height": `${height}px` } : {}}
      >
        <div class="as-View" role="region" aria-label="Fleet" tabIndex={-1}>
          <Header model={model} />
          <Counts model={model} />
          <div class="as-Main">
            {emptyState(model) ?? (
              <Split
                name="fleet"
                label="Resize the inbox"
                class="as-mod-sessions as-mod-fleet"
                narrow={STACKED_TO}
              >
                <Attention model={model} onOpen={onOpen} />
                <Sessions model={model} onOpen={onOpenSession} />
              </Split>
            )}
            {command !== null && (
              <CommandHint
                class="as-SessNews"
                command={command}
                onDismiss={() => setCommand(null)}
              />
            )}
            <CommandNoticeBar model={model} />
          </div>
        </div>
        {place.resizable && <HeightHandle height={height} onHeight={setHeight} />}
      </div>
    </ShellName.Provider>
  );
}

/** What asks for a person: what halted, and what failed. */
function Attention({ model, onOpen }: { model: FleetModel; onOpen(run: string): void }) {
  const tab = model.tab.value;
  const seen = useRef(new Set<FleetTab>()).current.add(tab);
  const { halted = 0, report } = model.fleet.value ?? {};
  const groups = [...(report?.errors ?? []), ...(report?.failed_actions ?? [])];
  const failed = groups.reduce((sum, { count }) => sum + count, 0);
  return (
    <section class="as-Pane as-SessSide" aria-label="What asks for you">
      <div class="as-Strip as-SessStrip">
        <TabList
          label="What asks for you"
          tabs={[
            { id: "inbox", label: "Inbox", mark: <TabCount count={halted} /> },
            { id: "errors", label: "Errors", mark: <TabCount count={failed} /> },
          ]}
          selected={tab}
          onSelect={(id) => {
            model.tab.value = id;
          }}
        />
      </div>
      <div class="as-Tabpanels">
        {seen.has("inbox") && (
          <Panel label="Inbox" shown={tab === "inbox"}>
            <Inbox model={model} onOpen={onOpen} />
          </Panel>
        )}
        {seen.has("errors") && (
          <Panel label="Errors" shown={tab === "errors"}>
            <Errors model={model} />
          </Panel>
        )}
      </div>
    </section>
  );
}

function TabCount({ count }: { count: number }) {
  return count > 0 ? <span class="as-Count">{count.toLocaleString("en-US")}</span> : null;
}

interface SessionsProps {
  model: FleetModel;
  onOpen(session: FleetSession): void;
}

function Sessions({ model, onOpen }: SessionsProps) {
  const pane = useRef<HTMLElement>(null);
  const narrow = useNarrow(pane, TWO_LINES_TO);
  const selected = model.selected.value;
  const isEmpty = model.isListed.value && model.matching.value === 0;
  return (
    <section ref={pane} class="as-Pane as-SessList" aria-label="Sessions">
      <FilterBar model={model} narrow={narrow} />
      {isEmpty ? (
        <NoMatchingSessions onShowAll={() => model.showAll()}>
          The text is looked for in agents, sessions, monikers and errors.
        </NoMatchingSessions>
      ) : (
        <SessionTable model={model} narrow={narrow} onOpen={onOpen} />
      )}
      {selected && <Story model={model} session={selected} onOpen={onOpen} />}
    </section>
  );
}

function CommandNoticeBar({ model: { commands } }: { model: FleetModel }) {
  const progress = commands.progress.value;
  const notice = commands.notice.value;
  if (progress !== null) {
    return (
      <NoticeBar class="as-SessNews" role="status">
        <span>{progress}</span>
      </NoticeBar>
    );
  }
  return (
    <ActionNoticeBar notice={commands.notice} role={notice?.tone === "bad" ? "alert" : "status"} />
  );
}

// ---- Where there is nothing to show: what this is, and what to do next.

/** What stands in place of inbox and list; null where there is something, or may soon be. */
function emptyState(model: FleetModel) {
  const connection = model.client.connection.value;
  const fleet = model.fleet.value;
  if (fleet === null) {
    const apart = awayReason(connection);
    return apart === null ? <div /> : <NotConnected link={model.client} why={apart} />;
  }
  if (countSessions(fleet) > 0 || fleet.halted > 0) return null;
  return (
    <NoAgents>
      Background agents, and every run that halts, show here at once. This creates an agent that
      does one step after the other in a worker:
    </NoAgents>
  );
}
