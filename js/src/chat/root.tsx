/** The whole view: a header, the conversation with a field to write in, and the list of conversations. */
import { useEffect, useRef, useState } from "preact/hooks";
import { connectionProblem } from "../model/status";
import { openRun, type RunAccess } from "../shells/server";
import { Button } from "../view/button";
import { useKeepFocus } from "../view/focus";
import { escapeInvisible } from "../view/format";
import type { ViewPlacement } from "../view/hooks";
import { useSharedKeys } from "../view/keys";
import { CommandHint, Empty, ErrorBar, NotConnected, NoticeBar } from "../view/notices";
import { HeightHandle, useHeight, useNarrow } from "../view/split";
import { Composer } from "./composer";
import { Agents, Header, Title } from "./header";
import { List } from "./list";
import { Transcript } from "./messages/transcript";
import type { ChatModel } from "./model";

// ---- Where there is no conversation to show: what this is, and what to do next.

/** What stands in place of the conversation; null where one is shown, or may soon be. */
export function emptyState(model: ChatModel) {
  const connection = model.client.connection.value;
  if (model.removed.value) return <Deleted model={model} />;
  if (model.info.value !== null) return null;
  const apart = connection.kind === "lost" ? AWAY : connectionProblem(connection);
  return apart === null ? null : <NotConnected link={model.client} why={apart} />;
}

const AWAY = "The kernel doesn’t answer. The view continues when the kernel answers.";

function Deleted({ model }: { model: ChatModel }) {
  const begin = (
    <Button
      outline
      icon="plus"
      hint="Begin another conversation"
      disabledReason={model.readOnlyReason.value}
      onClick={() => void model.createSession()}
    >
      New conversation
    </Button>
  );
  return (
    <Empty alert title="This conversation was deleted" actions={begin}>
      <p>Begin another one, or choose one from the list.</p>
    </Empty>
  );
}

/** Up to this width the list lies over the conversation; as its sheets have it. */
const OVER_TO = 700;

/** Where the focus may go when what had it goes, the best first. */
const FOCUS_FALLBACKS = [".as-ChatPost-field", ".as-View"];

interface RootProps {
  model: ChatModel;
  place: ViewPlacement;
  getRunAccess(): RunAccess;
}

export function Root({ model, place, getRunAccess }: RootProps) {
  const root = useRef<HTMLDivElement>(null);
  const narrow = useNarrow(root, OVER_TO);
  const [height, setHeight] = useHeight(place);
  useKeepFocus(root, FOCUS_FALLBACKS);
  useSharedKeys(root);
  const [command, setCommand] = useState<string | null>(null);
  const onOpen = (run: string) => setCommand(openRun(run, getRunAccess()));
  const { shown, all } = model.sessions;
  const listed = shown.value && all.value !== null;
  const hideList = () => {
    shown.value = false;
    root.current?.querySelector<HTMLElement>(".as-ChatHeader-list")?.focus();
  };
  const toField = () => root.current?.querySelector<HTMLElement>(".as-ChatPost-field")?.focus();
  // What stood beside the conversation would come to lie over it.
  useEffect(() => {
    if (narrow) shown.value = false;
  }, [narrow]);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: keys bubble up to here from what has the focus
    <div
      ref={root}
      class="as-Root as-shell-inline as-Chat"
      data-lm-suppress-shortcuts="true"
      style={place.resizable ? { "--as-height": `${height}px` } : {}}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || event.defaultPrevented || !listed) return;
        event.preventDefault();
        hideList();
      }}
    >
      <div class="as-View" role="region" aria-label="Chat" tabIndex={-1}>
        <Header model={model} onOpen={onOpen} />
        <div class="as-Strip as-ChatStrip">
          <Title model={model} />
          <span class="as-Spring" />
          <Agents model={model} onOpen={onOpen} />
        </div>
        <div class="as-ChatBody">
          {listed && <List model={model} isOverlay={narrow} onClose={hideList} onBegun={toField} />}
          <div class="as-ChatMain">
            {emptyState(model) ?? <Transcript model={model} />}
            <Apart model={model} />
            {command !== null && (
              <CommandHint
                class="as-ChatNews as-mod-hint"
                command={command}
                onDismiss={() => setCommand(null)}
              />
            )}
            <ErrorBar class="as-ChatNews" error={model.error} />
            <Composer model={model} />
          </div>
        </div>
      </div>
      {place.resizable && <HeightHandle height={height} onHeight={setHeight} />}
    </div>
  );
}

/** What keeps the view from the kernel, while the conversation is still to be read. */
function Apart({ model }: { model: ChatModel }) {
  const why = connectionProblem(model.client.connection.value);
  if (why === null || model.info.value === null) return null;
  return (
    <NoticeBar class="as-ChatNews">
      <span>{escapeInvisible(why)}</span>
    </NoticeBar>
  );
}
