/** CONFIRMATION: a question that an agent waits with, and what a person chose. */
import { useState } from "preact/hooks";
import { Icon } from "../../icons/icon";
import { FoldRow } from "../../inspector/show/fold_row";
import { Button } from "../../view/button";
import { cx } from "../../view/classes";
import { visible } from "../../view/visible";
import type { ShownMessage, TranscriptModel } from "../types";
import { Json } from "./json";
import { Rich } from "./rich";

interface ConfirmationProps {
  model: TranscriptModel;
  message: ShownMessage;
}

export function Confirmation({ model, message }: ConfirmationProps) {
  const { id, content, details, chosen, final } = message;
  const waits = !final && model.info.value?.waiting === id;
  const barred = model.barred.value !== null;
  return (
    <section class={cx("as-Confirm", waits && "as-mod-waits")} aria-label="Confirmation">
      <div class="as-Confirm-head as-Small">
        <Icon name="shield" small />
        <b>{waits ? `Waits for ${barred ? "a" : "your"} choice` : "Asked for a choice"}</b>
      </div>
      <Rich text={content || "Go on?"} />
      {details !== null && details !== undefined && (
        <FoldRow label="Details" note={aboutOf(details)}>
          {() => <Json label="Details" value={details} />}
        </FoldRow>
      )}
      <Choices model={model} message={message} waits={waits} />
      {!waits && chosen === null && (
        <p class="as-Muted as-Small">
          {final
            ? "Withdrawn: the agent no longer waits for an answer."
            : "Nobody waits for an answer any more."}
        </p>
      )}
    </section>
  );
}

function Choices({ model, message, waits }: ConfirmationProps & { waits: boolean }) {
  const { id, choices, chosen } = message;
  const [sent, setSent] = useState<string | null>(null);
  const [refused, setRefused] = useState<string | null>(null);
  const choose = async (choice: string) => {
    setSent(choice);
    setRefused(null);
    const why = await model.choose(id, choice);
    setRefused(why);
    if (why !== null) setSent(null);
  };
  const over = chosen === null ? "Nobody waits for an answer any more" : "The choice is made";
  const held = waits
    ? (model.barred.value ?? (sent !== null ? "Your choice is sent" : null))
    : over;
  return (
    <>
      <div class="as-Confirm-choices" role="group" aria-label="Choices">
        {choices.map((choice, at) => (
          <Button
            key={at}
            outline
            {...(choice === chosen && { icon: "check" as const })}
            class={choice === (chosen ?? sent) ? "as-mod-chosen" : undefined}
            name={choice === chosen ? `${visible(choice)}: chosen` : visible(choice)}
            hint={`Answer: ${visible(choice)}`}
            held={held}
            onClick={() => void choose(choice)}
          >
            <span class="as-Ellipsis">{visible(choice) || "(empty)"}</span>
          </Button>
        ))}
      </div>
      {refused !== null && (
        <p class="as-Bad as-Small as-Text" role="alert">
          {visible(refused)}
        </p>
      )}
    </>
  );
}

/** What the details are of, where they say so: a tool's name, and why it asks. */
function aboutOf(details: unknown): string {
  if (typeof details !== "object" || details === null) return "";
  const { tool, why } = details as { tool?: unknown; why?: unknown };
  return [tool, why]
    .filter((each) => typeof each === "string")
    .map((each) => visible(each.slice(0, 200)))
    .join(" · ");
}
