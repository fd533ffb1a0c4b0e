/** What a halted call asks, and what answers it. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon } from "../icons/icon";
import { draftProblemText, readOnlyReason } from "../model/controls";
import type { MessageBody, Model, PendingApproval, TimelineRow } from "../model/model";
import type { AnswerKind, ApprovalPrompt as Asked, Risk } from "../protocol/types.gen";
import { Button } from "../view/button";
import { escapeInvisible } from "../view/format";

// ---- How approvals are said. Pure.

const RISKS: Record<Risk, string> = {
  low: "low risk",
  medium: "medium risk",
  high: "high risk",
};

const OUTCOMES: Partial<Record<AnswerKind, string>> = {
  resume: "Approved",
  stop: "The agent was stopped instead of an answer",
  withdrawn: "Withdrawn: the agent no longer waited for an answer",
};

/** What became of what was asked. */
export function approvalOutcomeText(
  answer: AnswerKind | null,
  { reason, always, approval }: Pick<MessageBody, "reason" | "always" | "approval">,
): string {
  if (answer === "deny")
    return reason ? `Denied: ${escapeInvisible(reason)}` : "Denied, without a reason";
  if (answer === "resume" && always) {
    const rule = approval?.rule;
    return `Approved, and allowed from now on${rule ? `: ${escapeInvisible(rule)}` : ""}`;
  }
  return (answer && OUTCOMES[answer]) ?? "Answered";
}

export interface QuestionProps {
  model: Model;
  row: TimelineRow;
  body: MessageBody;
  approval: Asked;
}

export function Question(props: QuestionProps) {
  const { model, row, approval } = props;
  const { risk, why } = approval;
  const section = useRef<HTMLElement>(null);
  const isLed = useFocusedQuestion(model, row, section);
  const connection = model.connection.value;
  const watches = connection.kind === "open" && !connection.control;
  return (
    // The person is led here by keys that don't answer it: the focus is on no button then.
    <section ref={section} class="as-Foot as-Asks" aria-label="Approval" tabIndex={-1}>
      <p>
        <Icon name="shield" class="as-You" />
        <b>Asks for approval</b>
        <span class={`as-Risk as-mod-${risk}`}>{RISKS[risk]}</span>
        <span class="as-Asks-led as-Small" role="status">
          {isLed && "The call is not approved yet: approve or deny it"}
        </span>
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keys */}
      <p class="as-Asks-why" tabIndex={0}>
        {escapeInvisible(why)}
      </p>
      {watches ? (
        <p class="as-Muted as-Small">This login may watch, not answer</p>
      ) : (
        <Answers {...props} />
      )}
    </section>
  );
}

/** Whether the person was led here; each time the question is scrolled into sight and gets the focus. */
function useFocusedQuestion(
  model: Model,
  row: TimelineRow,
  section: { current: HTMLElement | null },
): boolean {
  const led = model.focusedQuestion.value;
  const here = led?.row === row.id ? led : null;
  useLayoutEffect(() => {
    if (!here) return;
    section.current?.scrollIntoView?.({ block: "nearest" });
    section.current?.focus({ preventScroll: true });
  }, [here]);
  return here !== null;
}

// ---- What was asked, once it is answered; and what was denied unasked.

export function Decision({ row, body }: { row: TimelineRow; body: MessageBody }) {
  const { approval } = body;
  const denied = row.answer === "deny";
  return (
    <section class="as-Foot as-Decided" aria-label="Approval">
      <p>
        <Icon name={denied ? "cross" : "check"} class={denied ? "as-Bad" : "as-Good"} />
        <bdi>{approvalOutcomeText(row.answer, body)}</bdi>
      </p>
      {approval && (
        <p class="as-Muted as-Small">
          Asked for approval, {RISKS[approval.risk]}: <bdi>{escapeInvisible(approval.why)}</bdi>
        </p>
      )}
    </section>
  );
}

// ---- The line in which a person says why something must not happen.

/** The Core takes no longer one. */
const LONGEST = 10_000;

/** What was written and not sent, by row: a look elsewhere loses nothing. */
const denialDrafts = new Map<string, string>();

export function Denial({ model, row }: { model: Model; row: TimelineRow }) {
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => field.current?.focus({ preventScroll: true }), []);
  const disabledReason = answerDisabledReason(model, row);
  const close = () => {
    model.denying.value = null;
  };
  const send = () => {
    if (disabledReason === null) void model.deny(row, field.current?.value.trim() ?? "");
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.isComposing) return;
    if (event.key === "Escape") close();
    else if (event.key === "Enter" && event.target === field.current) send();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: keys bubble up to here from the field
    <div class="as-Deny" onKeyDown={onKeyDown}>
      <input
        ref={field}
        class="as-Input"
        aria-label="Reason for the denial"
        placeholder="Reason for the agent to read"
        maxLength={LONGEST}
        defaultValue={denialDrafts.get(row.id) ?? ""}
        onInput={({ currentTarget }) => denialDrafts.set(row.id, currentTarget.value)}
      />
      <Button
        outline
        class="as-mod-danger"
        hint="Deny the call (Enter)"
        disabledReason={disabledReason}
        onClick={send}
      >
        Deny
      </Button>
      <Button icon="close" hint="Don’t deny the call (Esc)" onClick={close} />
    </div>
  );
}

// ---- The buttons that answer a question, and what is allowed beside it.

export function Answers(props: QuestionProps) {
  const { model, row, body, approval } = props;
  const [always, setAlways] = useState(false);
  const line = useRef<HTMLDivElement>(null);
  const confirming = useConfirming(props);
  const denies = model.denying.value === row.id;
  useFocusBack(line, denies);
  const isRead = useHasBeenRead();
  if (denies) return <Denial model={model} row={row} />;
  if (confirming) return <Confirm {...props} confirming={confirming} />;
  const isHigh = approval.risk === "high";
  const drafted = model.draft(row.id).value !== null;
  const words = drafted ? "Approve edited" : "Approve";
  const approve = () => {
    if (!isHigh) void model.approve(row, { always, confirmed: false });
    else {
      const draft = model.draft(row.id).peek()?.text ?? null;
      model.confirming.value = { row: row.id, revision: row.revision, always, draft };
    }
  };
  return (
    <>
      {approval.rule !== null && (
        <label class="as-Always">
          <input
            type="checkbox"
            checked={always}
            onChange={({ currentTarget }) => setAlways(currentTarget.checked)}
          />
          <span>
            Also allow from now on: <PolicyRuleText rule={approval.rule} />
          </span>
        </label>
      )}
      <div ref={line} class="as-Asks-acts">
        <Button
          primary
          icon="check"
          class="as-Approve"
          chord="Alt+A"
          name={isHigh ? `${words}…` : words}
          hint={`${drafted ? "Approve the call as you edited it" : "Approve the call"}${isHigh ? "; asks once more" : ""} (Alt+A)`}
          disabledReason={
            approveDisabledReason(model, row, body) ?? (isRead ? null : UNREAD_REASON)
          }
          onClick={approve}
        >
          {isHigh ? `${words}…` : words}
        </Button>
        <Button
          outline
          icon="close"
          class="as-Deny-begin"
          hint="Deny the call, and give a reason (d)"
          disabledReason={answerDisabledReason(model, row)}
          onClick={() => {
            model.denying.value = row.id;
          }}
        >
          Deny…
        </Button>
      </div>
    </>
  );
}

/** What is to be confirmed here: only what the person saw when they approved it. */
function useConfirming({ model, row }: QuestionProps) {
  const wanted = model.confirming.value;
  const draft = model.draft(row.id).value?.text ?? null;
  const same = wanted?.row === row.id && wanted.revision === row.revision && wanted.draft === draft;
  useLayoutEffect(() => {
    if (wanted?.row === row.id && !same) model.confirming.value = null;
  }, [wanted, same]);
  return same ? wanted : null;
}

/** Who leaves the field of a denial is back at the button that opened it. */
function useFocusBack(line: { current: HTMLElement | null }, denies: boolean): void {
  const before = useRef(denies);
  useLayoutEffect(() => {
    if (before.current && !denies)
      line.current?.querySelector<HTMLElement>(".as-Deny-begin")?.focus({ preventScroll: true });
    before.current = denies;
  }, [denies]);
}

// ---- The second gesture that approves what is of high risk: another button, elsewhere, with another key.

interface ConfirmProps extends QuestionProps {
  confirming: PendingApproval;
}

export function Confirm({ model, row, body, approval, confirming }: ConfirmProps) {
  const box = useRef<HTMLDivElement>(null);
  const { always, draft } = confirming;
  // On no button: the key that approved must not be the one that confirms.
  useLayoutEffect(() => box.current?.focus({ preventScroll: true }), []);
  const isRead = useHasBeenRead();
  const close = () => {
    model.confirming.value = null;
    box.current?.closest<HTMLElement>(".as-Asks")?.focus({ preventScroll: true });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || event.isComposing) return;
    close();
    event.preventDefault();
    event.stopPropagation();
  };
  const name = escapeInvisible(row.name ?? "it");
  const rule = always ? approval.rule : null;
  return (
    <div
      ref={box}
      class="as-Confirm"
      role="group"
      aria-label="Confirm the approval"
      tabIndex={-1}
      onKeyDown={onKeyDown}
    >
      <p role="status">
        High risk: let <code>{name}</code> happen{draft === null ? "" : " as you edited it"}
        {rule !== null && (
          <>
            , and allow from now on <PolicyRuleText rule={rule} />
          </>
        )}
        ?
      </p>
      <div class="as-Asks-acts">
        <Button outline hint="Don’t approve the call now (Esc)" onClick={close}>
          Back
        </Button>
        <span class="as-Spring" />
        <Button
          outline
          class="as-mod-danger as-Confirm-yes"
          chord="Alt+Y"
          name={`Yes, approve ${name}`}
          hint="Approve the call (Alt+Y)"
          disabledReason={
            approveDisabledReason(model, row, body) ?? (isRead ? null : UNREAD_REASON)
          }
          onClick={() => void model.approve(row, { always, confirmed: true })}
        >
          Yes, approve
        </Button>
      </div>
    </div>
  );
}

// ---- What would be allowed from now on, as the agent words it: what stands between backticks
// is code.

export function PolicyRuleText({ rule }: { rule: string }) {
  const parts = escapeInvisible(rule).split("`");
  return (
    <bdi>{parts.map((part, at) => (at % 2 === 1 ? <code key={part}>{part}</code> : part))}</bdi>
  );
}

// ---- Why a row can't be answered from here now.

/**
 * So long a question stands before it can be approved, in milliseconds: the second half of a double click,
 * or a key meant for the question before, approves nothing that nobody has read.
 */
export const MIN_READING_MS = 500;

export const UNREAD_REASON = "The question has only just appeared: read it first";

export function answerDisabledReason(model: Model, row: TimelineRow): string | null {
  return (
    readOnlyReason(model) ?? (model.sent.value.has(row.id) ? "Your answer is on its way" : null)
  );
}

/** Why a row can't be approved; `heldAnswering`'s reasons among others. */
export function approveDisabledReason(
  model: Model,
  row: TimelineRow,
  body: MessageBody,
): string | null {
  return answerDisabledReason(model, row) ?? invalid(model) ?? unseen(model, row, body);
}

function invalid(model: Model): string | null {
  const why = model.draftError.value;
  return why === null ? null : draftProblemText(why);
}

/** What is approved is the edit: it has to be what is shown. */
function unseen(model: Model, row: TimelineRow, { edit }: MessageBody): string | null {
  const edited = edit !== null || model.draft(row.id).value !== null;
  const original = model.showOriginal.value && !model.editing.value;
  return edited && original
    ? "The original is shown: look at the edit before you approve it"
    : null;
}

/** Whether something has been before the person for long enough to be read. */
export function useHasBeenRead(): boolean {
  const [isRead, setRead] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setRead(true), MIN_READING_MS);
    return () => clearTimeout(timer);
  }, []);
  return isRead;
}
