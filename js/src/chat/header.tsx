/** The chat's head: its title, its agents, how it stands, and what can be done about it. */

import { useEffect, useRef, useState } from "preact/hooks";
import { Icon } from "../icons/icon";
import { Button } from "../view/button";
import { useRovingTabIndex } from "../view/focus";
import { escapeInvisible } from "../view/format";
import { cx } from "../view/hooks";
import { RetryNow, StateLine } from "../view/notices";
import { roleLabel } from "./messages/rows";
import type { ChatModel } from "./model";
import { chatStatus, titleOf, typeText } from "./status";
import type { ChatAgentInfo } from "./types";

interface HeaderProps {
  model: ChatModel;
  onOpen(run: string): void;
}

export function Header({ model, onOpen }: HeaderProps) {
  return (
    <div class="as-Header as-ChatHeader">
      {model.sessions.all.value !== null && <ListSwitch model={model} />}
      <Standing model={model} />
      <span class="as-Spring" />
      <Controls model={model} onOpen={onOpen} />
    </div>
  );
}

function ListSwitch({ model: { sessions } }: { model: ChatModel }) {
  const shown = sessions.shown.value;
  const hint = shown ? "Hide the conversations (Esc)" : "Show all conversations";
  return (
    <button
      type="button"
      class="as-Button as-mod-icon as-ChatHeader-list"
      title={hint}
      aria-label="Conversations"
      aria-expanded={shown}
      onClick={() => {
        sessions.shown.value = !shown;
      }}
    >
      <ListIcon />
    </button>
  );
}

function Standing({ model }: { model: ChatModel }) {
  const connection = model.client.connection.value;
  const status = chatStatus(connection, model.info.value, {
    stopping: model.stopping.value,
    removed: model.removed.value,
  });
  return (
    <StateLine
      status={status}
      connection={connection}
      watching="This login may watch the chat, not take part"
    />
  );
}

function Controls({ model, onOpen }: HeaderProps) {
  const roving = useRovingTabIndex<HTMLDivElement>();
  const info = model.info.value;
  const run = info?.run_id ?? null;
  const stop = stopDisabledReason(model);
  const halted = run !== null && info?.halted === true && info.waiting === null;
  return (
    <div class="as-Controls" role="toolbar" aria-label="Chat control" {...roving}>
      <RetryNow link={model.client} label="as-ChatLabel" />
      <AutoChat model={model} />
      <Button
        icon="stop"
        name="Stop"
        hint="End this answer: the messages so far stay"
        disabledReason={stop}
        primary={stop === null && !halted}
        onClick={() => void model.stop()}
      >
        <span class="as-ChatLabel">Stop</span>
      </Button>
      <span class="as-Rule" />
      <Button
        icon="open"
        hint="Open the run in the debugger"
        primary={halted} // there it goes on
        disabledReason={run === null ? runDisabledReason(model) : null}
        onClick={() => run !== null && onOpen(run)}
      />
    </div>
  );
}

function stopDisabledReason(model: ChatModel): string | null {
  if (model.readOnlyReason.value !== null) return model.readOnlyReason.value;
  if (model.info.value?.state !== "STATE_RUNNING") return "No answer is under way";
  return model.stopping.value ? "The answer is being stopped" : null;
}

function runDisabledReason({ info }: ChatModel): string {
  return (
    info.value?.no_debugger ??
    "The conversation has no run yet: its run begins with the first answer"
  );
}

// ---- AutoChat's switch, with how far it has gone on by itself.

export function AutoChat({ model }: { model: ChatModel }) {
  const info = model.info.value;
  const on = info?.auto_chat ?? false;
  const most = info?.auto_chat_max ?? 0;
  const disabledReason =
    model.readOnlyReason.value ?? (info === null ? "The conversation is being opened" : null);
  const turns = `${info?.auto_turns ?? 0} of ${most}`;
  return (
    <button
      type="button"
      class={cx("as-Button as-ChatAuto", on && "as-mod-on")}
      role="switch"
      aria-checked={on}
      aria-disabled={disabledReason !== null ? true : undefined}
      aria-label={`AutoChat, ${turns}`}
      title={disabledReason ?? explanation(most)}
      onClick={() => {
        if (disabledReason === null) void model.set({ auto_chat: !on });
      }}
    >
      <span class="as-ChatAuto-track" aria-hidden="true" />
      <span class="as-ChatLabel">AutoChat</span>
      <span class="as-ChatAuto-short">Auto</span>
      <span class="as-ChatAuto-turns as-Small">{turns}</span>
    </button>
  );
}

function explanation(most: number): string {
  const times = most === 1 ? "once" : `${most.toLocaleString("en-US")} times`;
  return (
    `AutoChat: after an answer the agent is asked to go on by itself, at most ${times} until you say ` +
    "something. A question to you, an error, or Stop ends it."
  );
}

/** The icons that only a chat needs, drawn as the view's: a 16 px grid, strokes of 1.4, no fill. */
function ListIcon() {
  return (
    <svg class="as-Icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d="M2.5 3h11v7.5h-5L5.5 13v-2.5h-3zM5 5.6h6M5 8h4" />
    </svg>
  );
}

// ---- What the conversation is called: a click lets it be written anew.

/** Letters that a title has at most. */
const LONGEST = 200;

export function Title({ model }: { model: ChatModel }) {
  const info = model.info.value;
  const [writing, setWriting] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  if (!info) return <span />;
  if (writing) {
    const done = (title: string | null, byKey: boolean) => {
      setWriting(false);
      if (title !== null && title.trim() !== info.title) void model.set({ title: title.trim() });
      if (byKey) requestAnimationFrame(() => button.current?.focus());
    };
    return <Field title={info.title} onDone={done} />;
  }
  const name = titleOf(info);
  const disabledReason = model.readOnlyReason.value;
  return (
    <button
      ref={button}
      type="button"
      class="as-ChatTitle"
      title={`${name}\n${disabledReason ?? "Click to change the title"}`}
      aria-disabled={disabledReason !== null ? true : undefined}
      onClick={() => setWriting(disabledReason === null)}
    >
      <b class="as-Ellipsis">{name}</b>
    </button>
  );
}

interface FieldProps {
  title: string;
  /** Null: it stays as it is. Without a key the person has gone elsewhere. */
  onDone(title: string | null, byKey: boolean): void;
}

function Field({ title, onDone }: FieldProps) {
  const field = useRef<HTMLInputElement>(null);
  const over = useRef(false);
  useEffect(() => field.current?.select(), []);
  const end = (value: string | null, byKey: boolean) => {
    if (over.current) return; // what goes also loses the focus
    over.current = true;
    onDone(value, byKey);
  };
  return (
    <input
      ref={field}
      class="as-Input as-ChatTitle-field"
      aria-label="Title of the conversation"
      maxLength={LONGEST}
      defaultValue={title}
      onBlur={({ currentTarget: { value } }) => {
        // Later: what goes before the focus has arrived elsewhere would hold it back.
        setTimeout(() => end(value, false));
      }}
      onKeyDown={(event) => {
        if (event.isComposing || (event.key !== "Enter" && event.key !== "Escape")) return;
        event.preventDefault();
        event.stopPropagation();
        end(event.key === "Enter" ? event.currentTarget.value : null, true);
      }}
    />
  );
}

// ---- The agents of the conversation: name, role, and which of them speaks.

interface AgentsProps {
  model: ChatModel;
  onOpen(run: string): void;
}

export function Agents({ model, onOpen }: AgentsProps) {
  const info = model.info.value;
  if (!info) return null;
  const speaking = info.state === "STATE_RUNNING" ? info.speaking : null;
  return (
    <ul class="as-ChatAgents" aria-label="Agents" title={namesOf(info.agents)}>
      {info.agents.map((agent) => (
        <li key={agent.name}>
          <Agent
            agent={agent}
            speaks={agent.name === speaking}
            works={info.waiting === null && !info.halted}
            usual={info.agents.length > 1 && agent.name === info.default_agent}
            onOpen={onOpen}
          />
        </li>
      ))}
    </ul>
  );
}

function namesOf(agents: readonly ChatAgentInfo[]): string {
  return agents.map(({ name, role }) => `${escapeInvisible(name)}: ${roleLabel(role)}`).join("\n");
}

interface AgentProps {
  agent: ChatAgentInfo;
  speaks: boolean;
  /** Whether who speaks waits for nobody. */
  works: boolean;
  usual: boolean;
  onOpen(run: string): void;
}

/** One that has a run of its own leads to it. */
function Agent({ agent, speaks, works, usual, onOpen }: AgentProps) {
  const { name, role, description, run_id } = agent;
  const notice = escapeInvisible(agent.notice);
  const lines = [
    `${escapeInvisible(name)}: ${escapeInvisible(role)}, ${typeText(agent)}`,
    description && escapeInvisible(description),
    notice,
    usual && "Receives messages when no other agent is chosen",
    run_id !== null && "Open the agent’s own run in the debugger",
  ];
  const busy = speaks && works;
  const inside = (
    <>
      <Icon name={busy ? "spin" : "agent"} small spin={busy} />
      <span class="as-Ellipsis">{escapeInvisible(name)}</span>
      <span class="as-ChatAgent-role as-Muted">{roleLabel(role)}</span>
      {notice && (
        <span class="as-ChatAgent-notice">
          {notice.split(":")[0]}
          <span class="as-Hidden">{notice.slice(notice.split(":")[0]?.length)}</span>
        </span>
      )}
      {speaks && <span class="as-Hidden">speaks</span>}
    </>
  );
  const look = cx("as-ChatAgent as-Small", speaks && "as-mod-speaks");
  const title = lines.filter(Boolean).join("\n");
  if (run_id === null) {
    return (
      <span class={look} title={title}>
        {inside}
      </span>
    );
  }
  return (
    <button type="button" class={look} title={title} onClick={() => onOpen(run_id)}>
      {inside}
    </button>
  );
}
