/** The header: how the chat stands, whether it goes on by itself, and what can be done about it. */
import { Icon } from "../icons/icon";
import { Button } from "../view/button";
import { cx } from "../view/classes";
import { RetryNow } from "../view/retry_now";
import { useRoving } from "../view/roving";
import type { ChatModel } from "./model";
import { chatStatus } from "./status";

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
  const connection = model.line.connection.value;
  const { words, detail, icon, tone, spin } = chatStatus(connection, model.info.value, {
    stopping: model.stopping.value,
    removed: model.removed.value,
  });
  return (
    <div
      class={cx("as-State", `as-mod-${tone}`)}
      role="status"
      title={detail ? `${words}: ${detail}` : words}
    >
      <Icon name={icon} spin={spin ?? false} />
      <span class="as-Ellipsis">{words}</span>
      {connection.kind === "open" && !connection.control && (
        <small class="as-mod-kept" title="You may watch this chat, not take part">
          watching only
        </small>
      )}
      {detail && (
        <small class={cx("as-Ellipsis", connection.kind === "lost" && "as-mod-kept")}>
          {detail}
        </small>
      )}
    </div>
  );
}

function Controls({ model, onOpen }: HeaderProps) {
  const roving = useRoving<HTMLDivElement>();
  const info = model.info.value;
  const run = info?.run_id ?? null;
  const stop = heldStop(model);
  const halted = run !== null && info?.halted === true && info.waiting === null;
  return (
    <div class="as-Controls" role="toolbar" aria-label="Chat control" {...roving}>
      <RetryNow line={model.line} label="as-ChatLabel" />
      <AutoChat model={model} />
      <Button
        icon="stop"
        name="Stop"
        hint="End this answer: what was said stays"
        held={stop}
        primary={stop === null && !halted}
        onClick={() => void model.stop()}
      >
        <span class="as-ChatLabel">Stop</span>
      </Button>
      <span class="as-Rule" />
      <Button
        icon="open"
        hint="Open its run in the debugger"
        primary={halted} // there it goes on
        held={run === null ? heldRun(model) : null}
        onClick={() => run !== null && onOpen(run)}
      />
    </div>
  );
}

function heldStop(model: ChatModel): string | null {
  if (model.barred.value !== null) return model.barred.value;
  if (model.info.value?.state !== "STATE_RUNNING") return "Nothing is being answered";
  return model.stopping.value ? "It is being stopped" : null;
}

function heldRun({ info }: ChatModel): string {
  return info.value?.no_debugger ?? "It has no run yet: that begins with the first answer";
}

// ---- AutoChat's switch, with how far it has gone on by itself.

export function AutoChat({ model }: { model: ChatModel }) {
  const info = model.info.value;
  const on = info?.auto_chat ?? false;
  const most = info?.auto_chat_max ?? 0;
  const held = model.barred.value ?? (info === null ? "The conversation is being opened" : null);
  const turns = `${info?.auto_turns ?? 0} of ${most}`;
  return (
    <button
      type="button"
      class={cx("as-Button as-ChatAuto", on && "as-mod-on")}
      role="switch"
      aria-checked={on}
      aria-disabled={held !== null ? true : undefined}
      aria-label={`AutoChat, ${turns}`}
      title={held ?? means(most)}
      onClick={() => {
        if (held === null) void model.set({ auto_chat: !on });
      }}
    >
      <span class="as-ChatAuto-track" aria-hidden="true" />
      <span class="as-ChatLabel">AutoChat</span>
      <span class="as-ChatAuto-short">Auto</span>
      <span class="as-ChatAuto-turns as-Small">{turns}</span>
    </button>
  );
}

function means(most: number): string {
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
