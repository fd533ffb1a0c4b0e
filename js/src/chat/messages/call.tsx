/** Calls of tools, questions about them, and the JSON that both show. */
import { useMemo, useState } from "preact/hooks";
import { Icon, type IconName } from "../../icons/icon";
import { FoldRow, LongText } from "../../inspector/components/long_text";
import { pretty } from "../../inspector/json/print";
import { Button, CopyButton } from "../../view/button";
import { escapeInvisible } from "../../view/format";
import { cx, useOwnId } from "../../view/hooks";
import type { ShownMessage, TranscriptModel } from "../types";
import { FormattedText } from "./rich";

type Standing = "running" | "ok" | "failed" | "none";

const STANDINGS: Record<Standing, { icon: IconName; words: string }> = {
  running: { icon: "spin", words: "running" },
  ok: { icon: "check", words: "done" },
  failed: { icon: "cross", words: "failed" },
  none: { icon: "close", words: "no result" },
};

export function Call({ message }: { message: ShownMessage }) {
  const { name, content, result, call_id } = message;
  const [open, setOpen] = useState(false);
  const id = useOwnId();
  const standing = standingOf(message);
  const { icon, words } = STANDINGS[standing];
  const called = useMemo(() => argumentsLine(message.arguments), [message.arguments]);
  const given = useMemo(() => (standing === "none" ? "" : valueLine(result)), [result, standing]);
  const has = standing === "ok" || standing === "failed";
  return (
    <div class={cx("as-FunctionCall", `as-mod-${standing}`)}>
      <button
        type="button"
        class="as-FunctionCall-line"
        aria-expanded={open}
        aria-controls={id}
        onClick={() => setOpen(!open)}
      >
        <Icon name={open ? "down" : "right"} small />
        <Icon name="tools" small />
        <code class="as-Code as-Ellipsis as-FunctionCall-name">
          <b>{escapeInvisible(name ?? "") || "(no name)"}</b>
          <bdi>{`(${escapeInvisible(called)})`}</bdi>
        </code>
        <span class="as-Spring as-Ellipsis as-Muted">
          {has && <bdi>{`→ ${escapeInvisible(given)}`}</bdi>}
        </span>
        <span class="as-FunctionCall-standing">
          <Icon name={icon} small spin={standing === "running"} />
          {words}
        </span>
      </button>
      <div id={id} hidden={!open} class="as-FunctionCall-opened">
        {open && (
          <>
            {content && <p class="as-Text">{escapeInvisible(content)}</p>}
            <Json label="Arguments" value={message.arguments} />
            {has && <Json label={standing === "failed" ? "Error" : "Result"} value={result} />}
            {call_id && (
              <p class="as-Muted as-Small as-Text">{`Call ${escapeInvisible(call_id)}`}</p>
            )}
          </>
        )}
      </div>
    </div>
  );
}

function standingOf({ ok, result, streaming }: ShownMessage): Standing {
  if (ok === false) return "failed";
  if (ok === true || (result !== null && result !== undefined)) return "ok";
  return streaming ? "running" : "none";
}

// ---- CONFIRMATION: a question that an agent waits with, and what a person chose.

interface ConfirmationProps {
  model: TranscriptModel;
  message: ShownMessage;
}

export function Confirmation({ model, message }: ConfirmationProps) {
  const { id, content, details, chosen, final } = message;
  const waits = !final && model.info.value?.waiting === id;
  const barred = model.readOnlyReason.value !== null;
  return (
    <section class={cx("as-Confirm", waits && "as-mod-waits")} aria-label="Confirmation">
      <div class="as-Confirm-head as-Small">
        <Icon name="shield" small />
        <b>{waits ? `Waits for ${barred ? "a" : "your"} choice` : "Asked for a choice"}</b>
      </div>
      <FormattedText text={content || "Go on?"} />
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
            : "The agent no longer waits for an answer."}
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
  const over = chosen === null ? "The agent no longer waits for an answer" : "The choice is made";
  const disabledReason = waits
    ? (model.readOnlyReason.value ?? (sent !== null ? "Your choice is sent" : null))
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
            name={
              choice === chosen ? `${escapeInvisible(choice)}: chosen` : escapeInvisible(choice)
            }
            hint={`Answer: ${escapeInvisible(choice)}`}
            disabledReason={disabledReason}
            onClick={() => void choose(choice)}
          >
            <span class="as-Ellipsis">{escapeInvisible(choice) || "(empty)"}</span>
          </Button>
        ))}
      </div>
      {refused !== null && (
        <p class="as-Bad as-Small as-Text" role="alert">
          {escapeInvisible(refused)}
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
    .map((each) => escapeInvisible(each.slice(0, 200)))
    .join(" · ");
}

// ---- JSON values as JSON text, whole numbers of any size as they are. Pure.

/** Deeper than this nobody looks. */
const DEEPEST = 200;

/** The JSON text of a value. */
export function jsonText(value: unknown, depth = 0): string {
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (depth > DEEPEST) return '"…"';
  if (Array.isArray(value)) return `[${value.map((each) => jsonText(each, depth + 1)).join(",")}]`;
  const members = Object.entries(value).map(
    ([name, each]) => `${JSON.stringify(name)}:${jsonText(each, depth + 1)}`,
  );
  return `{${members.join(",")}}`;
}

/** Letters of a value on one line. */
const MAX_VALUE_CHARS = 60;
/** Values of a call that are named on its line. */
const MAX_NAMED_ARGUMENTS = 4;

/** The arguments of a call on one line, as a program would write them: `path="a.py", lines=3`. */
export function argumentsLine(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value !== "object" || Array.isArray(value)) return valueLine(value);
  const members = Object.entries(value);
  const named = members
    .slice(0, MAX_NAMED_ARGUMENTS)
    .map(([name, each]) => `${name}=${valueLine(each)}`);
  return [...named, ...(members.length > MAX_NAMED_ARGUMENTS ? ["…"] : [])].join(", ");
}

/** A value on one line, cut where it is long. */
export function valueLine(value: unknown): string {
  // Of a long text only its beginning is written out.
  const text = jsonText(typeof value === "string" ? value.slice(0, 2 * MAX_VALUE_CHARS) : value);
  return text.length > MAX_VALUE_CHARS ? `${text.slice(0, MAX_VALUE_CHARS - 1)}…` : text;
}

// ---- A JSON value, laid out on lines.

interface JsonProps {
  label: string;
  value: unknown;
}

export function Json({ label, value }: JsonProps) {
  // A text is shown as what it says, with its line ends.
  const text = useMemo(
    () => (typeof value === "string" ? value : pretty(jsonText(value))),
    [value],
  );
  return (
    <div class="as-Json">
      <div class="as-Json-head">
        <span class="as-Muted">{label}</span>
        <span class="as-Spring" />
        <CopyButton label={`Copy the ${label.toLowerCase()}`} text={() => text} />
      </div>
      {text === "" ? <p class="as-Muted">an empty text</p> : <LongText text={text} code boxed />}
    </div>
  );
}
