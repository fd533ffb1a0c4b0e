/** One conversation: who takes part, what was said, and a field to say something. */

import { useState } from "preact/hooks";
import { Icon } from "../icons/icon";
import { LongText } from "../inspector/components/long_text";
import type { ConversationMessage, Participant } from "../protocol/runtime.gen";
import { Button } from "../view/button";
import { sendsOnEnter } from "../view/fields";
import { escapeInvisible, formatClock, formatCount, formatDate } from "../view/format";
import { tooLongText } from "./action_panel";
import type { SessionsModel } from "./model";
import { hasEnded, shortId } from "./status";
import { LongTextBlock, ScrollToEndButton, useScrollToEnd } from "./steps";

interface TranscriptProps {
  model: SessionsModel;
  id: string;
}

export function Transcript({ model, id }: TranscriptProps) {
  const conversation = model.conversations.value.get(id);
  const title = escapeInvisible(conversation?.title ?? "") || escapeInvisible(shortId(id));
  return (
    <div class="as-Pane">
      <div class="as-PaneBar as-SessTitle">
        <Button icon="left" hint="All conversations" onClick={() => model.openConversation(null)} />
        <b class="as-Ellipsis" title={escapeInvisible(id)}>
          {title}
        </b>
        <span class="as-Spring" />
        {conversation && (
          <span class="as-Muted as-Small">
            {conversation.status === "closed" ? "closed" : formatDate(conversation.created_at)}
          </span>
        )}
      </div>
      <Participants model={model} />
      <Messages model={model} />
      <PostForm model={model} id={id} closed={conversation?.status === "closed"} />
    </div>
  );
}

/** Those that haven't left; a session leads to its steps. */
function Participants({ model }: { model: SessionsModel }) {
  const here = model.conversationTopic.participants.value.filter(({ left_at }) => left_at === null);
  const inside = new Set(here.map(({ session_id }) => session_id));
  const missing = model.targets.value.filter(
    (state) => !inside.has(state.session_id) && !hasEnded(state),
  );
  const ids = missing.map(({ session_id }) => session_id);
  const who =
    ids.length === 1
      ? escapeInvisible(missing[0]?.agent_id ?? "")
      : formatCount(ids.length, "session");
  return (
    <div class="as-SessPeople">
      <ul aria-label="Participants">
        {here.map((each) => (
          <li key={each.participant_id} class="as-SessPerson as-Tag">
            <ParticipantEntry model={model} participant={each} />
          </li>
        ))}
        {here.length === 0 && <li class="as-Muted as-Small">Nobody takes part yet</li>}
      </ul>
      {ids.length > 0 && (
        <Button
          icon="plus"
          name={`Add ${who}`}
          hint={`Add ${who} to the conversation`}
          disabledReason={model.readOnlyReason.value}
          class="as-SessPeople-add"
          onClick={() => void model.addParticipants(ids)}
        >
          <span class="as-Ellipsis">{who}</span>
        </Button>
      )}
    </div>
  );
}

function ParticipantEntry({
  model,
  participant,
}: {
  model: SessionsModel;
  participant: Participant;
}) {
  const { participant_id, kind, user_id, agent_id, session_id, role, delivery } = participant;
  const name = escapeInvisible((kind === "user" ? user_id : agent_id) ?? "") || "somebody";
  const how = [role !== "member" && role, delivery === "pull" && "reads by itself"].filter(Boolean);
  const title = [name, session_id && escapeInvisible(session_id), ...how]
    .filter(Boolean)
    .join("\n");
  const inside = (
    <>
      <Icon name={kind === "user" ? "user" : "agent"} small />
      <span class="as-Ellipsis">{name}</span>
    </>
  );
  return (
    <>
      {session_id === null ? (
        <span class="as-SessPerson-name" title={title}>
          {inside}
        </span>
      ) : (
        <button
          type="button"
          class="as-SessPerson-name"
          title={`${title}\nShow its steps`}
          onClick={() => {
            model.select(session_id);
            model.sideTab.value = "steps";
          }}
        >
          {inside}
        </button>
      )}
      <Button
        icon="close"
        name={`Remove ${name}`}
        hint="Remove this participant from the conversation: its messages stay"
        disabledReason={model.readOnlyReason.value}
        onClick={() => void model.removeParticipant(participant_id)}
      />
    </>
  );
}

function Messages({ model }: { model: SessionsModel }) {
  const { conversationTopic } = model;
  const messages = conversationTopic.messages.value;
  const { ref, onScroll, hasUnseen, scrollToEnd } = useScrollToEnd<HTMLDivElement>(
    conversationTopic.id.value,
    messages.at(-1)?.message_id,
  );
  const none = messages.length === 0 && !conversationTopic.isLoading.value;
  return (
    <div class="as-SessLog">
      <div
        ref={ref}
        class="as-Scroll"
        role="log"
        aria-live="off"
        aria-label="Messages"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scroller has to be reached by the keyboard
        tabIndex={0}
        onScroll={onScroll}
      >
        {none && <p class="as-SessLog-before as-Muted">No message yet.</p>}
        {conversationTopic.hasEarlier.value && (
          <p class="as-SessLog-before">
            <button
              type="button"
              class="as-Link as-Small"
              onClick={() => void conversationTopic.showEarlier()}
            >
              Show earlier messages
            </button>
          </p>
        )}
        {messages.map((message) => (
          <Message key={message.message_id} message={message} />
        ))}
      </div>
      {hasUnseen && <ScrollToEndButton what="New messages" onClick={scrollToEnd} />}
    </div>
  );
}

const SENDER_ICONS = { user: "user", agent: "agent", system: "system" } as const;

function Message({ message }: { message: ConversationMessage }) {
  const { sender_type, user_id, agent_id, session_id, text, event_type, iteration } = message;
  const name = escapeInvisible(user_id ?? agent_id ?? "") || "AgentStepper";
  if (sender_type === "system") {
    return (
      <p class="as-SessEntry as-mod-system as-Small as-Muted">
        <span class="as-Text">
          {escapeInvisible(text) || `${name}: ${escapeInvisible(event_type ?? "")}`}
        </span>{" "}
        {formatClock(message.created_at)}
      </p>
    );
  }
  return (
    <div class={`as-SessEntry as-mod-${sender_type}`}>
      <div class="as-SessEntry-head as-Small">
        <Icon name={SENDER_ICONS[sender_type]} small />
        <b class="as-Ellipsis" title={session_id ? escapeInvisible(session_id) : name}>
          {name}
        </b>
        {iteration !== null && <span class="as-Muted">{`#${iteration}`}</span>}
        <span class="as-Spring" />
        <span class="as-Muted">{formatClock(message.created_at)}</span>
      </div>
      <LongText text={text || "(no text)"} />
      {message.notes && <LongTextBlock text={message.notes} class="as-Small as-Muted" />}
    </div>
  );
}

/** Letters that a post has at most. */
const MAX_POST_CHARS = 1_000_000;

function PostForm({ model, id, closed }: { model: SessionsModel; id: string; closed: boolean }) {
  const { conversationTopic } = model;
  const text = conversationTopic.drafts.value.get(id) ?? "";
  const [sending, setSending] = useState(false);
  const disabledReason = postDisabledReason(model, closed, text);
  const post = async () => {
    if (disabledReason !== null || sending) return;
    setSending(true);
    const sent = await model.postMessage(text);
    if (sent && conversationTopic.drafts.peek().get(id) === text)
      conversationTopic.setDraft(id, "");
    setSending(false);
  };
  return (
    <form
      class="as-SessPost"
      aria-label="Post"
      onSubmit={(event) => {
        event.preventDefault();
        void post();
      }}
    >
      <textarea
        class="as-Input"
        rows={2}
        aria-label="Message to all who take part"
        placeholder={closed ? "This conversation is closed" : "Message to all who take part"}
        readOnly={closed}
        value={text}
        onInput={({ currentTarget }) => conversationTopic.setDraft(id, currentTarget.value)}
        onKeyDown={sendsOnEnter(() => void post())}
      />
      <Button
        outline
        hint="Post the message (Enter; Shift+Enter begins a line)"
        disabledReason={disabledReason}
        onClick={() => void post()}
      >
        Post
      </Button>
    </form>
  );
}

function postDisabledReason(model: SessionsModel, closed: boolean, text: string): string | null {
  if (model.readOnlyReason.value !== null) return model.readOnlyReason.value;
  if (closed) return "This conversation is closed";
  if (text.length > MAX_POST_CHARS) return tooLongText(MAX_POST_CHARS);
  return text.trim() === "" ? "Write a message first" : null;
}
