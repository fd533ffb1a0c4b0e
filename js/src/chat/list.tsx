/** All conversations: those that are live, and those that are kept and can be opened again. */

import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { Button } from "../view/button";
import { formatCount, formatDate } from "../view/format";
import { cx } from "../view/hooks";
import { ErrorBar, StateMark } from "../view/notices";
import type { ChatModel } from "./model";
import { sessionStatus, titleOf } from "./status";
import type { ChatSessionInfo } from "./types";

interface ListProps {
  model: ChatModel;
  /** Whether it lies over the conversation: then it goes once one is chosen. */
  isOverlay: boolean;
  /** Put it away. */
  onClose(): void;
  /** A new conversation is there. */
  onBegun(): void;
}

export function List({ model, isOverlay, onClose, onBegun }: ListProps) {
  const { sessions } = model;
  const list = useRef<HTMLElement>(null);
  useEffect(() => {
    const find = (selector: string) => list.current?.querySelector<HTMLElement>(selector);
    (find("[aria-current]") ?? find("button"))?.focus();
  }, []);
  const go = async (there: Promise<boolean>, then?: () => void) => {
    if (!(await there)) return;
    if (isOverlay) onClose();
    then?.();
  };
  return (
    <section
      ref={list}
      class={cx("as-ChatList", isOverlay && "as-mod-over")}
      aria-label="Conversations"
      onKeyDown={(event) => moveFocus(event, list.current)}
    >
      <div class="as-PaneBar as-ChatList-bar">
        <Button
          outline
          icon="plus"
          hint="Begin another conversation: this one goes on"
          disabledReason={model.readOnlyReason.value}
          onClick={() => void go(model.createSession(), onBegun)}
        >
          New
        </Button>
        <span class="as-Spring" />
        <Button icon="close" hint="Hide the conversations (Esc)" onClick={onClose} />
      </div>
      <ErrorBar class="as-ChatNews" error={sessions.error} />
      <ul class="as-Scroll as-ChatList-rows">
        {sessions.all.value?.map((info) => (
          <Item
            key={info.id}
            model={model}
            info={info}
            onLook={() => void go(model.openSession(info.id))}
          />
        ))}
      </ul>
    </section>
  );
}

interface ItemProps {
  model: ChatModel;
  info: ChatSessionInfo;
  onLook(): void;
}

/** One conversation. Where a part of it goes that has the focus, the list keeps the focus. */
function Item(props: ItemProps) {
  const { model, info } = props;
  const item = useRef<HTMLLIElement>(null);
  const isConfirming = model.sessions.confirmingDelete.value === info.id;
  useLayoutEffect(() => {
    if (isConfirming) return () => focusFirst(item.current);
  }, [isConfirming]);
  useLayoutEffect(
    () => () => {
      const gone = item.current; // still in the document here
      if (!gone?.contains(document.activeElement)) return;
      focusFirst(gone.nextElementSibling ?? gone.previousElementSibling ?? gone.closest("section"));
    },
    [],
  );
  return (
    <li ref={item} class="as-ChatItem">
      {isConfirming ? <DeleteConfirmation model={model} info={info} /> : <Shown {...props} />}
    </li>
  );
}

/** Focus a conversation, or what begins one where none is left. */
function focusFirst(within: Element | null): void {
  within?.querySelector<HTMLElement>(".as-ChatItem-open, .as-ChatList-bar button")?.focus();
}

function Shown({ model, info, onLook }: ItemProps) {
  const { id, live, updated_at, messages } = info;
  const status = sessionStatus(info);
  const title = titleOf(info);
  const current = id === model.session.value && !model.removed.value;
  const kept = live ? "live" : "stored: click to open";
  return (
    <>
      <button
        type="button"
        class="as-ChatItem-open"
        aria-current={current ? "true" : undefined}
        title={`${title}\n${status.words}; ${formatCount(messages, "message")}; ${kept}`}
        onClick={onLook}
      >
        <StateMark status={status} />
        <span class="as-Ellipsis as-ChatItem-title">{title}</span>
        <span class="as-ChatItem-about as-Small as-Muted">
          <span class="as-Ellipsis">{status.words}</span>
          <span class="as-Spring" />
          {formatDate(updated_at)}
        </span>
      </button>
      <Button
        icon="trash"
        name={`Delete ${title}`}
        hint="Delete the conversation"
        disabledReason={model.readOnlyReason.value}
        class="as-ChatItem-delete"
        onClick={() => {
          model.sessions.confirmingDelete.value = id;
        }}
      />
    </>
  );
}

/** Asks once more: what is deleted can't be had back. */
function DeleteConfirmation({ model, info }: Omit<ItemProps, "onLook">) {
  const { sessions } = model;
  const row = useRef<HTMLDivElement>(null);
  useEffect(() => row.current?.querySelector<HTMLElement>("button:last-of-type")?.focus(), []);
  const keep = () => {
    sessions.confirmingDelete.value = null;
  };
  return (
    <div
      ref={row}
      class="as-ChatItem-doomed"
      role="group"
      aria-label={`Delete ${titleOf(info)}?`}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        keep();
      }}
    >
      <span class="as-Small">Delete “{titleOf(info)}” for good?</span>
      <Button
        outline
        class="as-mod-danger"
        hint="Delete the conversation with all its messages"
        disabledReason={model.readOnlyReason.value}
        onClick={() => void sessions.remove(info.id)}
      >
        Delete
      </Button>
      <Button outline hint="Keep the conversation (Esc)" onClick={keep}>
        Keep
      </Button>
    </div>
  );
}

const STEPS: Record<string, number> = { ArrowUp: -1, ArrowDown: 1 };

/** Up and Down go from one conversation to the next. */
function moveFocus(event: KeyboardEvent, list: HTMLElement | null): void {
  const step = STEPS[event.key];
  if (step === undefined || !list) return;
  const all = [...list.querySelectorAll<HTMLElement>(".as-ChatItem-open")];
  const at = all.indexOf(document.activeElement as HTMLElement);
  const next = all[at + step];
  if (!next || (at === -1 && step < 0)) return;
  next.focus();
  event.preventDefault();
}
