/** What is said around a body: that it failed, was cut loose, or is edited. */
import { Icon } from "../../icons/icon";
import type { Row } from "../../model/model";
import { visible } from "../../view/visible";
import { LongText } from "./long_text";

export function Failure({ failure }: { failure: NonNullable<Row["failure"]> }) {
  return (
    <div class="as-Failure">
      <Icon name="crash" />
      <div>
        <b>{visible(failure.type)}</b>
        {failure.message && <LongText text={failure.message} code />}
      </div>
    </div>
  );
}

const ANSWERS: Partial<Record<NonNullable<Row["answer"]>, string>> = {
  skip: "Skipped: the agent was given a result instead.",
  deny: "Denied: the agent was told so instead of going on.",
  raise: "An error was raised in the agent here.",
  stop: "The agent was stopped here.",
  withdrawn: "Withdrawn: the agent no longer waited for an answer.",
};

/** How a breakpoint was answered, where the agent did not simply go on. */
export function AnswerNote({ row }: { row: Row }) {
  const words = row.answer ? ANSWERS[row.answer] : undefined;
  return words ? <p class="as-Note">{words}</p> : null;
}
