/** What a halted call asks, and what answers it. */
import { useLayoutEffect, useRef } from "preact/hooks";
import { Icon } from "../icons/icon";
import type { Model, Row } from "../model/model";
import type { AnswerKind, Approval, MessageBody, Risk } from "../protocol/types.gen";
import { visible } from "../view/visible";
import { Answers } from "./answers";

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
export function outcome(
  answer: AnswerKind | null,
  { reason, always, approval }: Pick<MessageBody, "reason" | "always" | "approval">,
): string {
  if (answer === "deny") return reason ? `Denied: ${visible(reason)}` : "Denied, without a reason";
  if (answer === "resume" && always) {
    const rule = approval?.rule;
    return `Approved, and allowed from now on${rule ? `: ${visible(rule)}` : ""}`;
  }
  return (answer && OUTCOMES[answer]) ?? "Answered";
}

export interface QuestionProps {
  model: Model;
  row: Row;
  body: MessageBody;
  approval: Approval;
}

export function Question(props: QuestionProps) {
  const { model, row, approval } = props;
  const { risk, why } = approval;
  const section = useRef<HTMLElement>(null);
  const isLed = useLed(model, row, section);
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
          {isLed && "Nothing is approved yet: approve or deny it"}
        </span>
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keys */}
      <p class="as-Asks-why" tabIndex={0}>
        {visible(why)}
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
function useLed(model: Model, row: Row, section: { current: HTMLElement | null }): boolean {
  const led = model.led.value;
  const here = led?.row === row.id ? led : null;
  useLayoutEffect(() => {
    if (!here) return;
    section.current?.scrollIntoView?.({ block: "nearest" });
    section.current?.focus({ preventScroll: true });
  }, [here]);
  return here !== null;
}

// ---- What was asked, once it is answered; and what was denied unasked.

export function Decided({ row, body }: { row: Row; body: MessageBody }) {
  const { approval } = body;
  const denied = row.answer === "deny";
  return (
    <section class="as-Foot as-Decided" aria-label="Approval">
      <p>
        <Icon name={denied ? "cross" : "check"} class={denied ? "as-Bad" : "as-Good"} />
        <bdi>{outcome(row.answer, body)}</bdi>
      </p>
      {approval && (
        <p class="as-Muted as-Small">
          Asked for approval, {RISKS[approval.risk]}: <bdi>{visible(approval.why)}</bdi>
        </p>
      )}
    </section>
  );
}
