/** How a row is called, and what shape its content has. */
import { Icon, type IconName } from "../icons/icon";
import type { TimelineRow } from "../model/model";
import { actorIcon, escapeInvisible, formatDuration } from "../view/format";

interface TitleParts {
  icon: IconName;
  actor: string;
  /** Before the name. */
  text: string;
  /** Said where there is room: " to gpt-5-mini". */
  suffix?: string;
  /** A tool's name. */
  code?: string;
}

export function titleOf(row: TimelineRow): TitleParts {
  const name = row.name === null ? undefined : escapeInvisible(row.name);
  switch (shapeOf(row)) {
    case "prompt":
      return { icon: "llm", actor: "llm", text: "Prompt", ...(name && { suffix: ` to ${name}` }) };
    case "answer":
      return {
        icon: "llm",
        actor: "llm",
        text: "Answer",
        ...(name && { suffix: ` from ${name}` }),
      };
    case "call":
      return { icon: "tools", actor: "tools", text: "Call", code: name ?? "a tool" };
    case "result":
      return { icon: "tools", actor: "tools", text: "Result of", code: name ?? "a tool" };
    case "note":
      return row.kind === "custom" ? customTitle(row) : (NOTES[row.kind] ?? DEBUG_MESSAGE);
  }
}

/** An event of a type that an agent named; its actor is whom the agent turns to. */
function customTitle({ name, side, source, target }: TimelineRow): TitleParts {
  const actor = side === "end" ? source : target;
  const text = side === "end" ? "Result of" : "Begin of";
  return { icon: actorIcon(actor), actor, text, code: name ?? "an event" };
}

const DEBUG_MESSAGE: TitleParts = { icon: "agent", actor: "agent", text: "Debug message" };
const NOTES: Partial<Record<TimelineRow["kind"], TitleParts>> = {
  program_started: { icon: "system", actor: "system", text: "Program", suffix: " started" },
  program_finished: { icon: "system", actor: "system", text: "Program", suffix: " ended" },
};

/** How buttons and labels call the row's contents: "Copy the prompt". */
export const SHAPE_LABELS: Record<ContentShape, string> = {
  prompt: "prompt",
  answer: "answer",
  call: "call",
  result: "result",
  note: "message",
};

export function Title({
  row,
  editing,
  tag,
}: {
  row: TimelineRow;
  editing?: boolean;
  tag?: string | undefined;
}) {
  const words = titleOf(row);
  const noun = editing ? words.text.toLowerCase() : words.text;
  const text = `${editing ? "Edit " : ""}${noun}`;
  const durationMs = row.duration === null ? "" : ` · ${formatDuration(row.duration)}`;
  const whole = `${text}${words.suffix ?? ""}${words.code ? ` ${words.code}` : ""}${durationMs}`;
  return (
    <h3 class="as-Title" title={whole}>
      <span class={`as-Actor as-mod-${words.actor}`}>
        <Icon name={words.icon} />
      </span>
      <span class="as-Ellipsis">
        <span class="as-Muted">{row.seq}</span> {text}
        {words.suffix}
        {words.code && <code class="as-Code as-Title-code">{` ${words.code}`}</code>}
      </span>
      {tag && (
        <span class="as-Tag as-mod-you" title={tag}>
          <Icon name="pencil" small />
          <span class="as-Tag-word">{tag}</span>
        </span>
      )}
    </h3>
  );
}

// ---- What a row's contents are, told by its kind and side.

/** What a body is, before anyone looks inside. */
export type ContentShape = "prompt" | "answer" | "call" | "result" | "note";

export function shapeOf(row: Pick<TimelineRow, "kind" | "side">): ContentShape {
  if (row.kind === "llm_query") return row.side === "end" ? "answer" : "prompt";
  if (row.kind === "tool_invocation") return row.side === "end" ? "result" : "call";
  return "note";
}
