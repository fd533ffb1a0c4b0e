/** Where a person writes: Enter sends, also what was written while an answer was coming. */
import { useRef } from "preact/hooks";
import { Button } from "../view/button";
import { escapeInvisible } from "../view/format";
import { useOwnId } from "../view/hooks";
import type { ChatModel } from "./model";
import { sendDisabledReason } from "./status";

/** Letters that a message has at most. */
const LONGEST = 1_000_000;

export function Composer({ model }: { model: ChatModel }) {
  const field = useRef<HTMLTextAreaElement>(null);
  const hint = useOwnId();
  const session = model.session.value;
  const text = model.drafts.get(session);
  const waits =
    model.readOnlyReason.value ?? sendDisabledReason(model.info.value, model.removed.value);
  const disabledReason =
    waits ?? textDisabledReason(text) ?? (model.sending.value ? "The message is being sent" : null);
  const send = async () => {
    if (disabledReason !== null) return;
    field.current?.focus(); // now: by the answer the person may be elsewhere
    await model.send();
  };
  return (
    <form
      class="as-ChatPost"
      aria-label="Your message"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <textarea
        ref={field}
        class="as-Input as-ChatPost-field"
        rows={2}
        aria-label="Message"
        aria-describedby={hint}
        placeholder="Write a message"
        value={text}
        onInput={({ currentTarget }) => model.drafts.set(session, currentTarget.value)}
        onKeyDown={(event) => {
          if (event.isComposing) return;
          if (event.key === "Enter" && !event.shiftKey) {
            event.preventDefault();
            void send();
          } else if (event.key === "ArrowUp" && text === "" && recall(model)) {
            event.preventDefault();
          }
        }}
      />
      <div class="as-ChatPost-side">
        <Button
          primary={disabledReason === null}
          outline={disabledReason !== null}
          hint="Send the message (Enter; Shift+Enter begins a line)"
          disabledReason={disabledReason}
          onClick={() => void send()}
        >
          Send
        </Button>
      </div>
      <Line id={hint} waits={waits} model={model} />
    </form>
  );
}

interface LineProps {
  /** Of the hint, which describes the field. */
  id: string;
  waits: string | null;
  model: ChatModel;
}

/** Whom it is for, and why it can't be sent now: a line that is always there, so that nothing moves. */
function Line({ id, waits, model }: LineProps) {
  return (
    <div class="as-ChatPost-line as-Small as-Muted">
      <Addressee model={model} />
      <span id={id} class="as-Ellipsis">
        {waits ?? "Enter sends, Shift+Enter begins a line"}
      </span>
    </div>
  );
}

function Addressee({ model }: { model: ChatModel }) {
  const info = model.info.value;
  if (!info || info.agents.length < 2) return null;
  const chosen = model.recipient.value;
  const known = info.agents.some(({ name }) => name === chosen);
  return (
    <label class="as-ChatPost-to">
      <span>To</span>
      <select
        class="as-Input as-Select"
        value={known ? (chosen ?? "") : ""}
        onChange={({ currentTarget }) => {
          model.recipient.value = currentTarget.value || null;
        }}
      >
        <option value="">{`${escapeInvisible(info.default_agent ?? "")} (default)`}</option>
        {info.agents
          .filter(({ name }) => name !== info.default_agent)
          .map(({ name }) => (
            <option key={name} value={name}>
              {escapeInvisible(name)}
            </option>
          ))}
      </select>
    </label>
  );
}

/** What the person said last is written again; whether there was anything. */
function recall(model: ChatModel): boolean {
  const last = model.messages.peek().findLast(({ role }) => role === "user");
  if (!last) return false;
  model.drafts.set(model.session.peek(), last.content);
  return true;
}

function textDisabledReason(text: string): string | null {
  if (text.length > LONGEST) {
    const over = (text.length - LONGEST).toLocaleString("en-US");
    return `The message is ${over} letters too long`;
  }
  return text.trim() === "" ? "Write a message first" : null;
}
