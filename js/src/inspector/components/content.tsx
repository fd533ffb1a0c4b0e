/** A body as a person reads it. */

import { useState } from "preact/hooks";
import type { TimelineRow } from "../../model/model";
import { estimateTokens, formatCost, formatTokenCount } from "../../view/figures";
import { formatCount, formatDuration, formatSize } from "../../view/format";
import { INITIAL_LIMIT_ALONE, textBytes } from "../fold";
import { oneLine, pretty } from "../json/print";
import type { Entry, Message, ParsedContent, Tokens, Tool } from "../parsed/parts";
import type { Group } from "../prompt_delta";
import type { ContentShape } from "../title";
import { FoldRow, LongText } from "./long_text";
import { ArgumentsView, Entries, MessageView } from "./part";

// ---- An answer: what the model said and which tools it calls, with what it cost.

type Answer = Extract<ParsedContent, { kind: "answer" }>;

/** Endings that a person should know of: the answer isn't whole. */
const ENDINGS: Record<string, string> = {
  length: "Cut off: the limit of tokens was reached.",
  max_tokens: "Cut off: the limit of tokens was reached.",
  incomplete: "Cut off before its end.",
  safety: "Cut off by the provider's content filter.",
  content_filter: "Cut off by the provider's content filter.",
  refusal: "The model refused.",
};

function AnswerView({ answer, figure }: { answer: Answer; figure: string | undefined }) {
  const ending = answer.ended === undefined ? undefined : ENDINGS[answer.ended.toLowerCase()];
  return (
    <>
      <Messages messages={answer.messages} figure={figure} />
      {ending && <p class="as-Note as-Bad">{ending}</p>}
    </>
  );
}

/**
 * What an answer took: "1,204 → 96 tok · $0.0021 · 1.93 s".
 *
 * @param told The tokens that stand in the answer itself.
 */
function figuresOf(row: TimelineRow, told?: Tokens): string {
  const input = row.usage?.input_tokens?.toLocaleString("en") ?? told?.input;
  const output = row.usage?.output_tokens?.toLocaleString("en") ?? told?.output;
  const tokens = [input, output].filter(Boolean).join(" → ");
  const figures = [
    tokens ? `${tokens} tok` : `≈${formatTokenCount(estimateTokens(row.size))} tok`,
    formatCost(row.usage),
    row.duration != null && formatDuration(row.duration),
  ];
  return figures.filter(Boolean).join(" · ");
}

interface ContentViewProps {
  row: TimelineRow;
  shape: ContentShape;
  reading: ParsedContent;
  known: PreviousPrompts | undefined;
}

export function ContentView(props: ContentViewProps) {
  const { row, shape, reading } = props;
  return (
    <>
      {shape === "answer" && reading.kind !== "answer" && row.duration !== null && (
        <p class="as-Note as-Small">{figuresOf(row)}</p>
      )}
      <Contents {...props} />
    </>
  );
}

function Contents({ row, shape, reading, known }: ContentViewProps) {
  switch (reading.kind) {
    case "prompt":
      return <PromptView prompt={reading} known={known} />;
    case "answer":
      return (
        <AnswerView
          answer={reading}
          figure={shape === "answer" ? figuresOf(row, reading.tokens) : undefined}
        />
      );
    case "call":
      return (
        <div class="as-Alone">
          <ArgumentsView args={reading.args} />
        </div>
      );
    case "entries":
      return (
        <div class="as-Alone">
          <Entries entries={reading.entries} />
        </div>
      );
    case "text":
      return <AloneText shape={shape} text={reading.text} />;
    case "data":
      return (
        <div class="as-Alone">
          <LongText text={pretty(reading.value.literal)} code limit={INITIAL_LIMIT_ALONE} />
        </div>
      );
  }
}

function AloneText({ shape, text }: { shape: ContentShape; text: string }) {
  if (text === "") return <p class="as-Note">{`An empty text (0 characters)`}</p>;
  return (
    <div class="as-Alone">
      <LongText text={text} code={shape === "result"} limit={INITIAL_LIMIT_ALONE} />
    </div>
  );
}

// ---- A prompt: what is new in it first to the eye, the rest folded but near.

type Prompt = Extract<ParsedContent, { kind: "prompt" }>;

/** What is known of the conversation from an earlier prompt. */
export interface PreviousPrompts {
  readonly groups: readonly Group[];
  /** The row of that prompt. */
  readonly seq: number;
}

/** As many messages are put on the page at once. */
const BATCH = 30;

export function PromptView({
  prompt,
  known,
}: {
  prompt: Prompt;
  known: PreviousPrompts | undefined;
}) {
  const { messages, settings, tools } = prompt;
  return (
    <>
      <Settings settings={settings} tools={tools} />
      {known ? <Compared known={known} /> : <Messages messages={messages} />}
      {messages.length === 0 && <p class="as-Note">A prompt without messages</p>}
    </>
  );
}

/** What stands as it did is folded, unless there is nothing else. */
function Compared({ known: { groups, seq } }: { known: PreviousPrompts }) {
  const fresh = groups.some(({ change, messages }) => change !== "same" && messages.length > 0);
  return (
    <>
      {groups.map((group, at) =>
        group.change !== "same" ? (
          <Fresh key={at} group={group} seq={seq} />
        ) : fresh ? (
          <FoldRow
            key={at}
            label={formatCount(group.messages.length, "earlier message")}
            note={`unchanged since event ${seq}`}
            figure={sizeOf(group.messages)}
          >
            {() => <Messages messages={group.messages} />}
          </FoldRow>
        ) : (
          <Messages key={at} messages={group.messages} />
        ),
      )}
    </>
  );
}

function Fresh({ group, seq }: { group: Group; seq: number }) {
  return (
    <>
      <div class="as-NewLine">{wordsOf(group, seq)}</div>
      <Messages messages={group.messages} fresh />
    </>
  );
}

/** What happened here since the earlier prompt. */
function wordsOf({ change, messages, removedCount }: Group, seq: number): string {
  const here = messages.length;
  const those = formatCount(removedCount, "earlier message");
  if (change === "new") {
    return `New since the last prompt${removedCount > 0 ? `, in place of ${those}` : ""}`;
  }
  if (here === 0) return `${those} left out since event ${seq}`;
  if (removedCount === 0)
    return `${formatCount(here, "message")} put in between since event ${seq}`;
  if (here === removedCount) return `${those} edited since event ${seq}`;
  return `${those} replaced since event ${seq} by ${here === 1 ? "this one" : `these ${here}`}`;
}

interface MessagesProps {
  messages: readonly Message[];
  fresh?: boolean;
  /** What is said of the first one, instead of its size. */
  figure?: string | undefined;
}

/** Messages, the last ones first on the page; earlier ones in pieces. */
function Messages({ messages, fresh = false, figure }: MessagesProps) {
  const [shown, setShown] = useState(BATCH);
  const hidden = Math.max(0, messages.length - shown);
  const more = Math.min(hidden, shown);
  return (
    <>
      {hidden > 0 && (
        <button type="button" class="as-Fold" onClick={() => setShown(shown + more)}>
          {`Show ${more === hidden ? "" : `${more} of `}${formatCount(hidden, "earlier message")}`}
          <span class="as-Spring" />
          <span>{sizeOf(messages.slice(0, hidden))}</span>
        </button>
      )}
      {messages.slice(hidden).map((message, at) => (
        <MessageView
          key={hidden + at}
          message={message}
          fresh={fresh}
          figure={hidden + at === 0 ? figure : undefined}
        />
      ))}
    </>
  );
}

function sizeOf(messages: readonly Message[]): string {
  return formatSize(messages.reduce((sum, one) => sum + textBytes(one.json), 0));
}

/** Model, temperature, tools: one line, opened on demand. */
function Settings({ settings, tools }: { settings: readonly Entry[]; tools: readonly Tool[] }) {
  if (settings.length === 0 && tools.length === 0) return null;
  const short = settings.map((one) => `${one.name} ${shortValue(one)}`);
  const label = tools.length > 0 ? formatCount(tools.length, "tool") : short.join(", ");
  const note = tools.length > 0 ? short.join(", ") : undefined;
  return (
    <FoldRow label={tools.length > 0 ? label : "Settings"} note={note ?? label}>
      {() => (
        <div class="as-Opened">
          <Entries entries={settings} />
          {tools.map((tool, at) => (
            <ToolCallView key={at} tool={tool} />
          ))}
        </div>
      )}
    </FoldRow>
  );
}

function shortValue({ value }: Entry): string {
  const text =
    value.string ?? (value.node.end - value.node.start < 60 ? oneLine(value.literal) : "…");
  return text.length > 40 ? `${text.slice(0, 39)}…` : text;
}

function ToolCallView({ tool }: { tool: Tool }) {
  return (
    <div class="as-Tool">
      <code class="as-Code as-Tools">{tool.name}</code>
      {tool.description && <LongText text={tool.description} limit={{ lines: 3, chars: 300 }} />}
    </div>
  );
}
