/** What an order needs before it is given: words for the next step, or a second thought. */

import type { ComponentChildren, VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Button } from "../view/button";
import { sendsOnEnter } from "../view/fields";
import { count, visible } from "../view/format";
import type { OrderForm, SessionsModel } from "./model";

/** Over the end of the list: nothing moves for it. */
export function OrderPanel({ model }: { model: SessionsModel }) {
  const orderForm = model.orderForm.value;
  if (!orderForm) return null;
  if (orderForm.order !== "destroy") return <GuidanceForm model={model} orderForm={orderForm} />;
  return (
    <DestroyConfirmation key={orderForm.sessions.join(" ")} model={model} orderForm={orderForm} />
  );
}

interface OrderPanelProps {
  model: SessionsModel;
  orderForm: OrderForm;
}

/** The two ways to tell a next step something, and how many letters each takes. */
const GUIDANCE_KINDS = [
  { order: "interrupt", label: "Interrupt", means: "in place of earlier messages", most: 100_000 },
  { order: "input", label: "Send input", means: "after earlier messages", most: 1_000_000 },
] as const;

function GuidanceForm({ model, orderForm }: OrderPanelProps) {
  const field = useRef<HTMLTextAreaElement>(null);
  const [sending, setSending] = useState(false);
  useEffect(() => {
    field.current?.focus();
    field.current?.select(); // what was left unsent
  }, []);
  const who = subject(model, orderForm);
  const disabledReason = guidanceDisabledReason(model, orderForm);
  const send = async () => {
    if (disabledReason !== null || sending) return;
    setSending(true);
    await model.submitOrderForm();
    setSending(false);
    field.current?.focus();
  };
  const button = (
    <Button
      primary
      hint="Send the message (Enter; Shift+Enter begins a line)"
      disabledReason={disabledReason}
      onClick={() => void send()}
    >
      Send
    </Button>
  );
  return (
    <Form model={model} label={`Tell ${who}`} onSubmit={() => void send()} button={button}>
      <GuidanceKinds model={model} orderForm={orderForm} />
      <textarea
        ref={field}
        class="as-Input as-SessAsk-field"
        rows={2}
        aria-label={`Message to the next step of ${who}`}
        placeholder={`Tell the next step of ${who} …`}
        value={model.guidance.value}
        readOnly={sending}
        onInput={({ currentTarget }) => {
          model.guidance.value = currentTarget.value;
        }}
        onKeyDown={sendsOnEnter(() => void send())}
      />
    </Form>
  );
}

function GuidanceKinds({ model, orderForm }: OrderPanelProps) {
  return (
    <fieldset class="as-SessAsk-ways as-Small" aria-label="How the message is delivered">
      {GUIDANCE_KINDS.map(({ order, label, means: explanation }) => (
        <label key={order}>
          <input
            type="radio"
            name="as-way"
            checked={orderForm.order === order}
            onChange={() => {
              model.orderForm.value = { ...orderForm, order };
            }}
          />
          <span>
            {label} <span class="as-Muted">{explanation}</span>
          </span>
        </label>
      ))}
    </fieldset>
  );
}

/** Why it can't be sent now; null where it can. */
function guidanceDisabledReason(
  model: SessionsModel,
  { order, sessions }: OrderForm,
): string | null {
  const words = model.guidance.value;
  const disabledReason = model.orderDisabledReason(order, model.statesOf(sessions));
  if (disabledReason !== null) return disabledReason;
  if (words.trim() === "") return "Write a message to the next step";
  const most = GUIDANCE_KINDS.find((way) => way.order === order)?.most ?? 0;
  return words.length > most ? tooLong(most) : null;
}

/** Said of a text that the Core wouldn't take. */
export const tooLong = (most: number): string =>
  `Too long: ${most.toLocaleString("en-US")} letters at most`;

function DestroyConfirmation({ model, orderForm }: OrderPanelProps) {
  const who = subject(model, orderForm);
  const disabledReason = model.orderDisabledReason("destroy", model.statesOf(orderForm.sessions));
  const destroy = () => {
    if (disabledReason === null) void model.submitOrderForm();
  };
  const button = (
    <Button
      class="as-mod-danger"
      hint="End for good"
      disabledReason={disabledReason}
      onClick={destroy}
    >
      Destroy
    </Button>
  );
  return (
    <Form model={model} label={`Destroy ${who}`} onSubmit={destroy} button={button} leave="Keep">
      <span class="as-SessAsk-words">
        End <bdi>{who}</bdi> for good? {orderForm.sessions.length === 1 ? "Its" : "Their"} steps
        stay.
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
    model.orderForm.value = null;
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
          hint={leave ? "Do nothing (Esc)" : "Close (Esc): your text stays"}
          onClick={letBe}
        >
          {leave ?? "Cancel"}
        </Button>
      </span>
    </form>
  );
}

function subject(model: SessionsModel, { sessions }: OrderForm): string {
  const [first] = model.statesOf(sessions);
  if (sessions.length === 1 && first) return visible(first.agent_id);
  return count(sessions.length, "session");
}
