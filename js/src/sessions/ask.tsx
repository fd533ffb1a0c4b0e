/** What an order needs before it is given: words for the next step, or a second thought. */

import type { ComponentChildren, VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Button } from "../view/button";
import { sendsOnEnter } from "../view/fields";
import { count, visible } from "../view/words";
import type { Asking, SessionsModel } from "./model";

/** Over the end of the list: nothing moves for it. */
export function Ask({ model }: { model: SessionsModel }) {
  const asking = model.asking.value;
  if (!asking) return null;
  if (asking.order !== "destroy") return <Tell model={model} asking={asking} />;
  return <Destroy key={asking.sessions.join(" ")} model={model} asking={asking} />;
}

interface AskProps {
  model: SessionsModel;
  asking: Asking;
}

/** The two ways to tell a next step something, and how many letters each takes. */
const WAYS = [
  { order: "interrupt", label: "Interrupt", means: "instead of what it was told", most: 100_000 },
  { order: "input", label: "Send input", means: "after what it was told", most: 1_000_000 },
] as const;

function Tell({ model, asking }: AskProps) {
  const field = useRef<HTMLTextAreaElement>(null);
  const [sending, setSending] = useState(false);
  useEffect(() => {
    field.current?.focus();
    field.current?.select(); // what was left unsent
  }, []);
  const who = subject(model, asking);
  const held = heldTelling(model, asking);
  const send = async () => {
    if (held !== null || sending) return;
    setSending(true);
    await model.answer();
    setSending(false);
    field.current?.focus();
  };
  const button = (
    <Button
      primary
      hint="Send it (Enter; Shift+Enter begins a line)"
      held={held}
      onClick={() => void send()}
    >
      Send
    </Button>
  );
  return (
    <Form model={model} label={`Tell ${who}`} onSubmit={() => void send()} button={button}>
      <Ways model={model} asking={asking} />
      <textarea
        ref={field}
        class="as-Input as-SessAsk-field"
        rows={2}
        aria-label={`What the next step of ${who} is to be told`}
        placeholder={`Tell the next step of ${who} …`}
        value={model.words.value}
        readOnly={sending}
        onInput={({ currentTarget }) => {
          model.words.value = currentTarget.value;
        }}
        onKeyDown={sendsOnEnter(() => void send())}
      />
    </Form>
  );
}

function Ways({ model, asking }: AskProps) {
  return (
    <fieldset class="as-SessAsk-ways as-Small" aria-label="How it is told">
      {WAYS.map(({ order, label, means }) => (
        <label key={order}>
          <input
            type="radio"
            name="as-way"
            checked={asking.order === order}
            onChange={() => {
              model.asking.value = { ...asking, order };
            }}
          />
          <span>
            {label} <span class="as-Muted">{means}</span>
          </span>
        </label>
      ))}
    </fieldset>
  );
}

/** Why it can't be sent now; null where it can. */
function heldTelling(model: SessionsModel, { order, sessions }: Asking): string | null {
  const words = model.words.value;
  const held = model.held(order, model.statesOf(sessions));
  if (held !== null) return held;
  if (words.trim() === "") return "Write what the next step is to be told";
  const most = WAYS.find((way) => way.order === order)?.most ?? 0;
  return words.length > most ? tooLong(most) : null;
}

/** Said of a text that the Core wouldn't take. */
export const tooLong = (most: number): string =>
  `Too long: ${most.toLocaleString("en-US")} letters at most`;

function Destroy({ model, asking }: AskProps) {
  const who = subject(model, asking);
  const held = model.held("destroy", model.statesOf(asking.sessions));
  const destroy = () => {
    if (held === null) void model.answer();
  };
  const button = (
    <Button class="as-mod-danger" hint="End for good" held={held} onClick={destroy}>
      Destroy
    </Button>
  );
  return (
    <Form model={model} label={`Destroy ${who}`} onSubmit={destroy} button={button} leave="Keep">
      <span class="as-SessAsk-words">
        End <bdi>{who}</bdi> for good? {asking.sessions.length === 1 ? "Its" : "Their"} steps stay.
      </span>
    </Form>
  );
}

interface FormProps {
  model: SessionsModel;
  label: string;
  onSubmit(): void;
  /** What does it. */
  button: VNode;
  /** What lets it be, and is given the focus then: nothing is destroyed by Enter alone. */
  leave?: string;
  children: ComponentChildren;
}

function Form({ model, label, onSubmit, button, leave, children }: FormProps) {
  const buttons = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    if (leave) buttons.current?.querySelector<HTMLElement>(".as-mod-outline")?.focus();
  }, []);
  const letBe = () => {
    model.asking.value = null;
  };
  return (
    <form
      class="as-SessAsk"
      aria-label={label}
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || event.isComposing) return;
        event.stopPropagation();
        letBe();
      }}
    >
      {children}
      <span ref={buttons} class="as-SessAsk-buttons">
        {button}
        <Button
          outline
          hint={leave ? "Do nothing (Esc)" : "Close it (Esc): what you wrote stays in it"}
          onClick={letBe}
        >
          {leave ?? "Cancel"}
        </Button>
      </span>
    </form>
  );
}

function subject(model: SessionsModel, { sessions }: Asking): string {
  const [first] = model.statesOf(sessions);
  if (sessions.length === 1 && first) return visible(first.agent_id);
  return count(sessions.length, "session");
}
