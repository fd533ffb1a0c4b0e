/** The fields of a body: a tool call's arguments, the texts of messages. */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon, type IconName } from "../icons/icon";
import { markOf } from "../inspector/marks";
import { cx } from "../view/classes";
import { count } from "../view/words";
import { FieldInput } from "./field_input";
import type { Field, Group } from "./fields";
import { AddMessage, type Focused, MessageActs } from "./message_acts";
import { type Messages, messageAt } from "./messages";
import type { EditSession } from "./session";

interface FormProps {
  session: EditSession;
  /** Put the cursor where editing most likely begins. */
  focus: boolean;
  showOriginal: boolean;
}

/** The last groups are shown at first: what is new in a conversation stands at its end. */
const BATCH = 12;

export function Form({ session, focus, showOriginal }: FormProps) {
  const box = useRef<HTMLDivElement>(null);
  const [next, setNext] = useState<Focused | null>(null);
  const messages = session.messages.value;
  const groups = grouped(session.fields.value, messages);
  const [shown, setShown] = useState(BATCH);
  const hidden = Math.max(0, groups.length - shown);
  const focused = focus ? firstToEdit(groups)?.id : undefined;
  // What had the focus may be gone, or stand elsewhere.
  useLayoutEffect(() => {
    if (next) box.current?.querySelector<HTMLElement>(next.selector)?.focus();
  }, [next]);
  // Messages are added after the last one, before the settings.
  const end = 1 + groups.findLastIndex(({ group }) => group?.id !== "settings");
  const drawn = ({ group, fields, number, begins }: Grouped) => (
    <div key={group?.id ?? ""} class="as-FormGroup" data-message={group?.message}>
      {group && (
        <GroupHead group={group}>
          {begins && messages && group.message !== undefined && (
            <MessageActs
              session={session}
              at={group.message}
              many={messages.list.items.length}
              onFocus={setNext}
            />
          )}
        </GroupHead>
      )}
      {fields.length === 0 && <p class="as-Note">Its parts are edited as JSON.</p>}
      <div class={cx("as-Form", isAlone(fields) && "as-mod-single")}>
        {fields.map((one) => (
          <Labelled
            key={one.id}
            session={session}
            field={one}
            name={group ? `${group.title} ${number}: ${one.label}` : one.label}
            prose={isProse(one, session)}
            showOriginal={showOriginal}
            focus={one.id === focused}
          />
        ))}
      </div>
    </div>
  );
  return (
    <div ref={box}>
      {hidden > 0 && (
        <button type="button" class="as-Fold" onClick={() => setShown(shown * 3)}>
          <Icon name="right" small />
          {`Show ${count(hidden, "earlier message")}`}
        </button>
      )}
      {groups.slice(hidden, end).map(drawn)}
      {messages && (
        <AddMessage session={session} many={messages.list.items.length} onFocus={setNext} />
      )}
      {groups.slice(Math.max(hidden, end)).map(drawn)}
    </div>
  );
}

/** In a conversation the last message, elsewhere the first field. */
function firstToEdit(groups: readonly Grouped[]): Field | undefined {
  const messages = groups.filter(({ group }) => group && group.id !== "settings");
  return (messages.at(-1) ?? groups[0])?.fields.find(({ value }) => !markOf(value));
}

/** A text that its heading names: it has the whole width. */
function isAlone(fields: readonly Field[]): boolean {
  return fields.length === 1 && ["content", "text"].includes(fields[0]?.label ?? "");
}

interface LabelledProps {
  session: EditSession;
  field: Field;
  name: string;
  prose: boolean;
  showOriginal: boolean;
  focus: boolean;
}

function Labelled({ focus, ...props }: LabelledProps) {
  const [once] = useState({ left: focus });
  return (
    <>
      <span class="as-Label as-Ellipsis" title={props.field.label} aria-hidden="true">
        {props.field.label}
      </span>
      <FieldInput
        {...props}
        onInputRef={(element) => {
          if (!element || !once.left) return;
          once.left = false;
          element.focus();
        }}
      />
    </>
  );
}

const ICONS: Record<string, { icon: IconName; actor: string }> = {
  assistant: { icon: "llm", actor: "llm" },
  user: { icon: "user", actor: "agent" },
  tool: { icon: "tools", actor: "tools" },
  calls: { icon: "tools", actor: "tools" },
};

function GroupHead({ group, children }: { group: Group; children: ComponentChildren }) {
  const look = ICONS[group.title] ?? { icon: "system", actor: "system" };
  return (
    <div class="as-Message-head as-mod-form">
      <span class={`as-Actor as-mod-${look.actor}`}>
        <Icon name={look.icon} small />
        <b>{group.title}</b>
      </span>
      {group.name && <span class="as-Muted as-Code as-Ellipsis">{group.name}</span>}
      {children}
    </div>
  );
}

/** Messages are prose; arguments and what tools say are code. */
function isProse(field: Field, session: EditSession): boolean {
  if (field.kind !== "text" || field.outer) return false;
  if (field.group) return !["tool", "calls", "settings"].includes(field.group.title);
  return field.id === "text" && session.shape !== "result";
}

interface Grouped {
  readonly group: Group | undefined;
  readonly fields: Field[];
  /** Which of all groups it is, from 1. */
  readonly number: number;
  /** Whether it is the first of its message. */
  readonly begins: boolean;
}

/** Fields by their groups; a message without a field has a group all the same. */
function grouped(fields: readonly Field[], messages: Messages | null): Grouped[] {
  const groups: Pick<Grouped, "group" | "fields">[] = [];
  for (const one of fields) {
    const last = groups.at(-1);
    if (last && last.group?.id === one.group?.id) last.fields.push(one);
    else groups.push({ group: one.group, fields: [one] });
  }
  for (let at = 0; messages && at < messages.list.items.length; at += 1) {
    if (groups.some(({ group }) => group?.message === at)) continue;
    const title = messageAt(messages, at)?.str("role") ?? "message";
    const group = { id: `${messages.prefix}${at}`, title, name: undefined, message: at };
    const before = groups.findLastIndex(({ group }) => (group?.message ?? at) < at);
    groups.splice(before + 1, 0, { group, fields: [] });
  }
  return groups.map((one, at) => ({
    ...one,
    number: at + 1,
    begins: one.group?.message !== groups[at - 1]?.group?.message,
  }));
}
