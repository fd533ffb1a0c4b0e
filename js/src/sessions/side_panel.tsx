/** Beside the list: a session's steps, or the conversations. */

import { useEffect, useRef, useState } from "preact/hooks";
import { Icon } from "../icons/icon";
import type { Conversation } from "../protocol/runtime.gen";
import { Button } from "../view/button";
import { escapeInvisible, formatCount, formatDate } from "../view/format";
import { Empty } from "../view/notices";
import { Panel, TabList } from "../view/tabs";
import type { SessionsModel, SideTab as Which } from "./model";
import { hasEnded, shortId } from "./status";
import { StepsPane } from "./steps";
import { Transcript } from "./transcript";

const TABS: { id: Which; label: string }[] = [
  { id: "steps", label: "Steps" },
  { id: "conversations", label: "Conversations" },
];

export function SidePanel({ model }: { model: SessionsModel }) {
  const tab = model.sideTab.value;
  const seen = useRef(new Set<Which>()).current.add(tab);
  return (
    <section class="as-Pane as-SessSide" aria-label="Beside the sessions">
      <div class="as-Strip as-SessStrip">
        <TabList
          label="Beside the sessions"
          tabs={TABS}
          selected={tab}
          onSelect={(id) => {
            model.sideTab.value = id;
          }}
        />
      </div>
      <div class="as-Tabpanels">
        {seen.has("steps") && (
          <Panel label="Steps" shown={tab === "steps"}>
            <StepsPane model={model} />
          </Panel>
        )}
        {seen.has("conversations") && (
          <Panel label="Conversations" shown={tab === "conversations"}>
            <Conversations model={model} />
          </Panel>
        )}
      </div>
    </section>
  );
}

// ---- All conversations, and a new one.

export function Conversations({ model }: { model: SessionsModel }) {
  const [making, setMaking] = useState(false);
  const [title, setTitle] = useState(""); // here: it waits where a conversation is looked at
  const open = model.conversationTopic.id.value;
  if (open !== null) return <Transcript key={open} model={model} id={open} />;
  const all = [...model.conversations.value.values()].sort((a, b) => b.created_at - a.created_at);
  return (
    <div class="as-Pane">
      {making ? (
        <NewConversationForm
          model={model}
          title={title}
          onTitle={setTitle}
          onDone={() => setMaking(false)}
        />
      ) : (
        all.length > 0 && (
          <div class="as-PaneBar">
            <span class="as-Muted as-Small">{formatCount(all.length, "conversation")}</span>
            <span class="as-Spring" />
            <NewConversationButton model={model} onClick={() => setMaking(true)} />
          </div>
        )
      )}
      {all.length > 0 ? (
        <ConversationList model={model} all={all} />
      ) : (
        <Empty
          title="No conversation yet"
          actions={
            !making && <NewConversationButton model={model} onClick={() => setMaking(true)} />
          }
        >
          <p>
            People and sessions read each other in a conversation. The next step of each session in
            it receives the messages that you post, and the texts of its steps are shown here.
          </p>
        </Empty>
      )}
    </div>
  );
}

function NewConversationButton({ model, onClick }: { model: SessionsModel; onClick(): void }) {
  return (
    <Button
      outline
      icon="plus"
      hint="Begin a conversation with the selected sessions"
      disabledReason={model.readOnlyReason.value}
      onClick={onClick}
    >
      New conversation
    </Button>
  );
}

function ConversationList({ model, all }: { model: SessionsModel; all: readonly Conversation[] }) {
  return (
    <ul class="as-Scroll as-SessTalks" aria-label="Conversations">
      {all.map(({ conversation_id: id, title, status, tags, created_at }) => (
        <li key={id}>
          <button type="button" class="as-SessTalk" onClick={() => model.openConversation(id)}>
            <span class="as-Ellipsis as-SessTalk-title" title={escapeInvisible(title)}>
              {escapeInvisible(title) || escapeInvisible(shortId(id))}
            </span>
            <Tags tags={tags} />
            <span class="as-Spring" />
            {status === "closed" && <span class="as-Muted as-Small">closed</span>}
            <span class="as-Muted as-Small">{formatDate(created_at)}</span>
            <Icon name="right" small />
          </button>
        </li>
      ))}
    </ul>
  );
}

/** Tags that have room in a line; the others are a number. */
const TAGS = 2;

function Tags({ tags }: { tags: readonly string[] }) {
  const more = tags.length - TAGS;
  return (
    <>
      {tags.slice(0, TAGS).map((tag) => (
        <span key={tag} class="as-Tag as-Ellipsis" title={escapeInvisible(tag)}>
          {escapeInvisible(tag)}
        </span>
      ))}
      {more > 0 && (
        <span class="as-Muted as-Small" title={tags.slice(TAGS).map(escapeInvisible).join("\n")}>
          {`+${more}`}
        </span>
      )}
    </>
  );
}

interface NewConversationFormProps {
  model: SessionsModel;
  title: string;
  onTitle(title: string): void;
  onDone(): void;
}

/** A title, and who takes part: those that are selected and haven't ended. */
function NewConversationForm({ model, title, onTitle, onDone }: NewConversationFormProps) {
  const field = useRef<HTMLInputElement>(null);
  const [alone, setAlone] = useState(false);
  const beginning = useRef(false); // an Enter too many makes no second one
  useEffect(() => field.current?.focus(), []);
  const live = model.targets.value.filter((state) => !hasEnded(state));
  const sessions = live.map(({ session_id }) => session_id);
  const who =
    sessions.length === 1
      ? escapeInvisible(live[0]?.agent_id ?? "")
      : formatCount(sessions.length, "session");
  const begin = async () => {
    if (model.readOnlyReason.peek() !== null || beginning.current) return;
    beginning.current = true;
    if (await model.createConversation(title.trim(), alone ? [] : sessions)) {
      onTitle("");
      onDone();
    }
    beginning.current = false;
  };
  return (
    <form
      class="as-SessNew"
      aria-label="New conversation"
      onSubmit={(event) => {
        event.preventDefault();
        void begin();
      }}
      onKeyDown={(event) => {
        if (event.key === "Escape") onDone();
      }}
    >
      <input
        ref={field}
        class="as-Input as-SessNew-title"
        aria-label="Title of the conversation"
        placeholder="Title"
        maxLength={1000}
        value={title}
        onInput={({ currentTarget }) => onTitle(currentTarget.value)}
      />
      {sessions.length > 0 && (
        <label class="as-SessNew-with as-Small">
          <input
            type="checkbox"
            checked={!alone}
            onChange={({ currentTarget }) => setAlone(!currentTarget.checked)}
          />
          <span class="as-Ellipsis">
            with <bdi>{who}</bdi>
          </span>
        </label>
      )}
      <span class="as-SessNew-buttons">
        <Button
          primary
          hint="Begin it (Enter)"
          disabledReason={model.readOnlyReason.value}
          onClick={() => void begin()}
        >
          Begin
        </Button>
        <Button outline hint="Do nothing (Esc)" onClick={onDone}>
          Cancel
        </Button>
      </span>
    </form>
  );
}
