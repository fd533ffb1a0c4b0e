/** How approvals are said. Pure. */
import type { AnswerKind, MessageBody, Risk } from "../protocol/types.gen";
import { visible } from "../view/visible";

export const RISKS: Record<Risk, string> = {
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
