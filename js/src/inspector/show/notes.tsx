/** What is said around a body: that it failed, was cut loose, or is edited. */
import { Icon } from "../../icons/icon";
import type { Row } from "../../model/model";
import { Button } from "../../view/button";
import { visible } from "../../view/visible";
import { LongText } from "./long_text";

interface FailureProps {
  failure: NonNullable<Row["failure"]>;
  /** The agent's frames that it passed; "" where they aren't known. */
  traceback?: string | undefined;
  /** Begins an edit that stands in its place; absent where none can. */
  onReplace?: (() => void) | undefined;
}

export function Failure({ failure, traceback, onReplace }: FailureProps) {
  return (
    <div class="as-Failure">
      <Icon name="crash" />
      <div>
        <b>{visible(failure.type)}</b>
        {failure.message && <LongText text={failure.message} code />}
        {traceback && (
          <section class="as-Traceback" aria-label="Traceback">
            <p class="as-Muted as-Small">Traceback, the innermost call last</p>
            <LongText text={traceback} code />
          </section>
        )}
        {onReplace && (
          <Button
            outline
            icon="pencil"
            hint="Give the agent a result; the exception is not raised then (e)"
            onClick={onReplace}
          >
            Replace the exception
          </Button>
        )}
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
