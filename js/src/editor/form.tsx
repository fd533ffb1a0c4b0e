/** The fields of a body: a tool call's arguments, the texts of messages. */
import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Icon, type IconName } from "../icons/icon";
import { LongText } from "../inspector/components/long_text";
import { textBytes } from "../inspector/fold";
import { opaqueValueOf } from "../inspector/opaque_values";
import { findInvisible, formatCount, formatSize } from "../view/format";
import { cx } from "../view/hooks";
import { type Field, type Group, inputText, type Messages, roleAt } from "./fields";
import { AddMessage, type FocusTarget, MessageActions } from "./message_actions";
import { AbsentArguments, choiceTexts, FieldHint, schemaOfField } from "./schema_parts";
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
  const [next, setNext] = useState<FocusTarget | null>(null);
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
            <MessageActions
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
          {`Show ${formatCount(hidden, "earlier message")}`}
        </button>
      )}
      {groups.slice(hidden, end).map(drawn)}
      {messages && <AddMessage session={session} messages={messages} onFocus={setNext} />}
      {groups.slice(Math.max(hidden, end)).map(drawn)}
      <AbsentArguments session={session} />
    </div>
  );
}

/** In a conversation the last message, elsewhere the first field. */
function firstToEdit(groups: readonly Grouped[]): Field | undefined {
  const messages = groups.filter(({ group }) => group && group.id !== "settings");
  return (messages.at(-1) ?? groups[0])?.fields.find(({ value }) => !opaqueValueOf(value));
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
  model: { icon: "llm", actor: "llm" },
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
  if (field.kind !== "text" || field.outerString) return false;
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
    const title = roleAt(messages, at) ?? "message";
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

// ---- One value as an input, with what it was and the way back.

interface FieldInputProps {
  session: EditSession;
  field: Field;
  /** Said by screen readers where the label alone is not enough: "message 3, user, content". */
  name: string;
  /** Prose in the view's own font; else code. */
  prose: boolean;
  showOriginal: boolean;
  onInputRef: ((element: HTMLTextAreaElement | HTMLInputElement | null) => void) | null;
}

/** A longer text is only edited as JSON: a text area would crawl. */
const LONGEST = 300_000;
const MOST_ROWS = 18;

export function FieldInput(props: FieldInputProps) {
  const { session, field, name, prose } = props;
  const errorId = useId();
  const invalidField = session.invalidField.value;
  const own = invalidField?.field.id === field.id ? invalidField : null;
  const changed = session.isChanged(field);
  const value = useTyped(own?.input ?? inputText(field), field);
  const readOnly = !session.canEdit(field);
  const opaque = opaqueValueOf(field.value);
  const choices = choiceTexts(schemaOfField(session.schema.value, field), field);
  const short = field.kind === "json" && !value.text.includes("\n") && value.text.length < 24;
  const fitting = choices.length > 0 && own === null ? "select" : short ? "input" : "textarea";
  const { element, hold, place } = useHeldElement(fitting, value);

  if (value.text.length > LONGEST) {
    return (
      <p class="as-Muted as-Small">{`${formatSize(textBytes(value.text))}: too long for a field, edit it as JSON.`}</p>
    );
  }
  const common = {
    class: cx("as-Input", !prose && "as-mod-code"),
    value: value.text,
    readOnly,
    "aria-label": name,
    "aria-invalid": own !== null,
    "aria-describedby": errorId,
    spellcheck: false,
    onInput: (event: Event) => {
      const typed = (event.currentTarget as HTMLInputElement).value;
      value.onType(typed);
      session.setField(field, typed);
    },
    ...hold,
    ref: (placed: HTMLTextAreaElement | HTMLInputElement | null) => {
      place.current = placed;
      props.onInputRef?.(placed);
    },
  };
  const narrow = short && element !== "textarea";
  return (
    <div class={cx("as-Field", changed && "as-mod-changed", narrow && "as-mod-short")}>
      {element === "select" ? (
        <select
          {...hold}
          class="as-Input as-Select as-mod-code"
          aria-label={name}
          aria-describedby={errorId}
          disabled={readOnly}
          value={value.text}
          onChange={({ currentTarget }) => session.setField(field, currentTarget.value)}
        >
          {[...new Set([value.text, ...choices])].map((each) => (
            <option key={each} value={each}>
              {each === "" ? "empty" : each}
            </option>
          ))}
        </select>
      ) : element === "input" ? (
        <input {...common} inputMode={field.value.node.kind === "number" ? "decimal" : "text"} />
      ) : (
        <textarea {...common} rows={rowsOf(value.text)} />
      )}
      {changed && <OriginalValue session={session} field={field} whole={props.showOriginal} />}
      <FieldHint schema={session.schema.value} field={field} />
      <div id={errorId} role="alert" class="as-Field-error">
        {own && `Not JSON: ${own.words}.`}
      </div>
      {opaque && <p class="as-Field-hidden">{`Read-only: ${opaque.why}.`}</p>}
      <Hidden text={value.text} />
    </div>
  );
}

/** A text area shows nothing where such characters stand: they are named beneath. */
function Hidden({ text }: { text: string }) {
  const found = useMemo(() => findInvisible(text), [text]);
  if (found.length === 0) return null;
  return (
    <p class="as-Field-hidden">{`Holds characters that can’t be seen: ${found.join(", ")}`}</p>
  );
}

/**
 * What stands in the input while it is typed in: exactly what was typed. The JSON that comes of it may be
 * spelled otherwise (a space less around a list), and must not move the cursor.
 */
function useTyped(text: string, field: Field) {
  const [typed, setTyped] = useState<{ typed: string; current: string } | null>(null);
  const holds =
    typed !== null &&
    (field.kind === "text" ? typed.typed === text : typed.typed.trim() === typed.current);
  return {
    text: holds ? (typed?.typed ?? text) : text,
    onType: (next: string) => setTyped({ typed: next, current: next.trim() }),
    onLeave: () => setTyped(null),
  };
}

type FieldElement = "select" | "input" | "textarea";

/**
 * The element that a field is edited in: the fitting one, but the same one while it has the focus. The focus
 * would be lost with it, and what is typed next would be commands.
 */
function useHeldElement(
  fitting: FieldElement,
  { text, onLeave }: { text: string; onLeave(): void },
) {
  const [held, setHeld] = useState<FieldElement | null>(null);
  // An input would drop line breaks, which may come from another view.
  const element = held === "input" && text.includes("\n") ? "textarea" : (held ?? fitting);
  const place = useRef<HTMLTextAreaElement | HTMLInputElement | null>(null);
  useLayoutEffect(() => {
    if (held === null || held === element) return;
    place.current?.focus();
    place.current?.setSelectionRange(text.length, text.length);
  }, [element]);
  const hold = {
    onFocus: () => setHeld(element),
    onBlur: ({ currentTarget }: FocusEvent) => {
      const field = currentTarget as HTMLElement;
      const root = field.getRootNode() as Document | ShadowRoot;
      // Where only the window lost it, the field has it again when the person is back.
      if (root.activeElement === field) return;
      setHeld(null);
      onLeave();
    },
  };
  return { element, hold, place };
}

/** How high a text area is where the browser can't fit it to its text. */
function rowsOf(text: string): number {
  const lines = text
    .split("\n", MOST_ROWS)
    .reduce((sum, line) => sum + 1 + Math.floor(line.length / 70), 0);
  return Math.min(MOST_ROWS, Math.max(1, lines));
}

const SHORT = 60;

function OriginalValue({
  session,
  field,
  whole,
}: {
  session: EditSession;
  field: Field;
  whole: boolean;
}) {
  const original = session.originalOf(field);
  if (!original) return <div class="as-Was">Added by you</div>;
  const text = inputText(original);
  const line = text.split("\n", 1)[0] ?? "";
  const short =
    line.length > SHORT || line.length < text.length ? `${line.slice(0, SHORT)}…` : line;
  return (
    <>
      <div class="as-Was">
        <span>Original</span>
        {!whole && <del title={text.slice(0, 2000)}>{short === "" ? "empty" : short}</del>}
        <button
          type="button"
          class="as-Link"
          title="Put the original back in this field"
          onClick={() => session.restore(field)}
        >
          Restore
        </button>
      </div>
      {whole && (
        <div class="as-WasWhole">
          <LongText text={text} code />
        </div>
      )}
    </>
  );
}
