/** What an action needs before it is sent: words for the next step, or a second thought. */

import type { ComponentChildren, VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Button } from "../view/button";
import { sendsOnEnter } from "../view/fields";
import { escapeInvisible, formatCount } from "../view/format";
import type { ActionForm, SessionsModel } from "./model";

/** Over the end of the list: nothing moves for it. */
export function ActionPanel({ model }: { model: SessionsModel }) {
  const actionForm = model.actionForm.value;
  if (!actionForm) return null;
  if (actionForm.action !== "destroy")
    return <GuidanceForm model={model} actionForm={actionForm} />;
  return (
    <DestroyConfirmation
      key={actionForm.sessions.join(" ")}
      model={model}
      actionForm={actionForm}
    />
  );
}

interface ActionPanelProps {
  model: SessionsModel;
  actionForm: ActionForm;
}

/** The two ways to tell a next step something, and how many letters each takes. */
const GUIDANCE_KINDS = [
  { action: "interrupt", label: "Interrupt", means: "in place of earlier messages", most: 100_000 },
  { action: "input", label: "Send input", means: "after earlier messages", most: 1_000_000 },
] as const;

function GuidanceForm({ model, actionForm }: ActionPanelProps) {
  const field = useRef<HTMLTextAreaElement>(null);
  const [sending, setSending] = useState(false);
  useEffect(() => {
    field.current?.focus();
    field.current?.select(); // what was left unsent
  }, []);
  const who = describeTargets(model, actionForm);
  const disabledReason = guidanceDisabledReason(model, actionForm);
  const send = async () => {
    if (disabledReason !== null || sending) return;
    setSending(true);
    field.current?.focus(); // now: by the answer the person may be elsewhere
    await model.submitActionForm();
    setSending(false);
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
      <GuidanceKinds model={model} actionForm={actionForm} />
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

function GuidanceKinds({ model, actionForm }: ActionPanelProps) {
  return (
    <fieldset class="as-SessAsk-ways as-Small" aria-label="How the message is delivered">
      {GUIDANCE_KINDS.map(({ action, label, means: explanation }) => (
        <label key={action}>
          <input
            type="radio"
            name="as-way"
            checked={actionForm.action === action}
            onChange={() => {
              model.actionForm.value = { ...actionForm, action };
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
  { action, sessions }: ActionForm,
): string | null {
  const words = model.guidance.value;
  const disabledReason = model.actionDisabledReason(action, model.statesOf(sessions));
  if (disabledReason !== null) return disabledReason;
  if (words.trim() === "") return "Write a message to the next step";
  const most = GUIDANCE_KINDS.find((way) => way.action === action)?.most ?? 0;
  return words.length > most ? tooLongText(most) : null;
}

/** Said of a text that the Core wouldn't take. */
export const tooLongText = (most: number): string =>
  `Too long: ${most.toLocaleString("en-US")} letters at most`;

function DestroyConfirmation({ model, actionForm }: ActionPanelProps) {
  const who = describeTargets(model, actionForm);
  const disabledReason = model.actionDisabledReason("destroy", model.statesOf(actionForm.sessions));
  const destroy = () => {
    if (disabledReason === null) void model.submitActionForm();
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
    <Form
      model={model}
      label={`Destroy ${who}`}
      onSubmit={destroy}
      button={button}
      cancelLabel="Keep"
    >
      <span class="as-SessAsk-words">
        End <bdi>{who}</bdi> for good? {actionForm.sessions.length === 1 ? "Its" : "Their"} steps
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
  cancelLabel?: string;
  children: ComponentChildren;
}

function Form({ model, label, onSubmit, button, cancelLabel, children }: FormProps) {
  const buttons = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    if (cancelLabel) buttons.current?.querySelector<HTMLElement>(".as-mod-outline")?.focus();
  }, []);
  const cancel = () => {
    model.actionForm.value = null;
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
        cancel();
      }}
    >
      {children}
      <span ref={buttons} class="as-SessAsk-buttons">
        {button}
        <Button
          outline
          hint={cancelLabel ? "Do nothing (Esc)" : "Close (Esc): your text stays"}
          onClick={cancel}
        >
          {cancelLabel ?? "Cancel"}
        </Button>
      </span>
    </form>
  );
}

function describeTargets(model: SessionsModel, { sessions }: ActionForm): string {
  const [first] = model.statesOf(sessions);
  if (sessions.length === 1 && first) return escapeInvisible(first.agent_id);
  return formatCount(sessions.length, "session");
}
