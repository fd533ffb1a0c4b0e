/** One message of a call: its parts, its pictures, its values. */
import { useMemo, useState } from "preact/hooks";
import { Icon, type IconName } from "../../icons/icon";
import { escapeInvisible, formatSize } from "../../view/format";
import { cx } from "../../view/hooks";
import { bytesOf, type ImageHeader, imageHeader, useObjectUrl } from "../../view/images";
import { lazy, withStyles } from "../../view/lazy";
import { textBytes } from "../fold";
import type { Value } from "../json/parse";
import { oneLine, pretty } from "../json/print";
import { parseFrameworkMessages } from "../parsed/content";
import type { Arguments, Entry, Message, Part } from "../parsed/parts";
import { FoldRow, LongText } from "./long_text";

/** Orange is kept for the person at this view: a message of the user's is the program's own. */
const LOOKS: Record<string, { icon: IconName; actor: string }> = {
  assistant: { icon: "llm", actor: "llm" },
  model: { icon: "llm", actor: "llm" },
  user: { icon: "user", actor: "agent" },
  tool: { icon: "tools", actor: "tools" },
  function: { icon: "tools", actor: "tools" },
};
const OTHER = { icon: "system", actor: "system" } as const;

interface MessageViewProps {
  message: Message;
  /** Not in the prompt before. */
  fresh?: boolean;
  /** At the right edge, instead of the message's size. */
  figure?: string | undefined;
}

export function MessageView({ message, fresh, figure }: MessageViewProps) {
  const look = LOOKS[message.role] ?? OTHER;
  const [isMarkdown, setMarkdown] = useState(false);
  const isProse = look.actor !== "tools";
  const markable =
    isProse && message.parts.some((part) => part.kind === "text" && looksLikeMarkdown(part.text));
  return (
    <article class={cx("as-Message", fresh && "as-mod-new")}>
      <div class="as-Message-head">
        <span class={`as-Actor as-mod-${look.actor}`}>
          <Icon name={look.icon} small />
          <b class="as-Ellipsis">{escapeInvisible(message.role)}</b>
        </span>
        {message.name && (
          <span class="as-Muted as-Code as-Ellipsis">{escapeInvisible(message.name)}</span>
        )}
        <span class="as-Spring" />
        {markable && (
          <button
            type="button"
            class="as-Link as-Small"
            title={isMarkdown ? "Show the text as it was sent" : "Show the text as Markdown"}
            onClick={() => setMarkdown(!isMarkdown)}
          >
            {isMarkdown ? "As text" : "Markdown"}
          </button>
        )}
        <span class="as-Message-figure as-Muted as-Ellipsis" title={figure}>
          {figure ?? formatSize(textBytes(message.json))}
        </span>
      </div>
      <div class="as-Message-body">
        <Parts parts={message.parts} code={!isProse} isMarkdown={isMarkdown} />
      </div>
    </article>
  );
}

// ---- Texts that may be Markdown: whether one looks so, and what shows it.

/** A longer one is shown as text alone: it would be laid out whole. */
const MAX_MARKDOWN_CHARS = 100_000;

const SIGNS = /^\s{0,3}(#{1,6}\s|[-*+]\s|\d+[.)]\s|>|```|~~~|\|.*\|)|\*\*\S|__\S|`[^`\n]+`|\]\(/m;

/** Whether a text has signs of Markdown. */
export function looksLikeMarkdown(text: string): boolean {
  return text.length <= MAX_MARKDOWN_CHARS && SIGNS.test(text);
}

export const Markdown = lazy<{ text: string }>(async () => {
  const { Markdown, styles } = await import("../markdown/index");
  return withStyles(Markdown, "markdown", styles);
});

// ---- One part of a message: text, a tool call, its result, or what is only named.

interface PartProps {
  part: Part;
  /** Whether texts are data rather than prose: what tools say. */
  code?: boolean;
  /** Show a text as Markdown. */
  isMarkdown?: boolean;
}

function PartView({ part, code, isMarkdown }: PartProps) {
  switch (part.kind) {
    case "text":
      if (isMarkdown && looksLikeMarkdown(part.text)) return <Markdown text={part.text} />;
      return <LongText text={part.text} code={code} />;
    case "thinking":
      return (
        <div class="as-Thinking">
          <FoldRow label="Thinking" figure={formatSize(textBytes(part.text))}>
            {() => <LongText text={part.text} />}
          </FoldRow>
        </div>
      );
    case "refusal":
      return (
        <>
          <span class="as-Tag as-mod-bad">refused</span>
          <LongText text={part.text} />
        </>
      );
    case "call":
      return (
        <div class="as-Call">
          <div class="as-Call-head">
            <Icon name="tools" small />
            <span class="as-Muted">Calls</span>
            <code class="as-Code">{escapeInvisible(part.name)}</code>
          </div>
          <ArgumentsView args={part.args} />
        </div>
      );
    case "result":
      return <ResultView part={part} />;
    case "media":
      if (part.image !== undefined) return <Picture base64={part.image} words={part.words} />;
      return <p class="as-Muted as-Small as-Text">{`${part.words} (not shown)`}</p>;
    case "data":
      return <LongText text={pretty(part.value.literal)} code boxed />;
  }
}

function ResultView({ part }: { part: Extract<Part, { kind: "result" }> }) {
  return (
    <div class="as-Call">
      <div class="as-Call-head">
        <Icon name="tools" small />
        <span class="as-Muted">Result of</span>
        <code class="as-Code">{escapeInvisible(part.name ?? "a tool")}</code>
        {part.failed && <span class="as-Tag as-mod-bad">failed</span>}
      </div>
      <Parts parts={part.parts} code />
    </div>
  );
}

interface PartsProps extends Omit<PartProps, "part"> {
  parts: readonly Part[];
}

export function Parts({ parts, code = false, isMarkdown = false }: PartsProps) {
  if (parts.length === 0) return <p class="as-Muted as-Small">Empty</p>;
  return (
    <>
      {parts.map((part, at) => (
        <PartView key={at} part={part} code={code} isMarkdown={isMarkdown} />
      ))}
    </>
  );
}

// ---- An image of a message, from the bytes in the message alone: nothing is ever fetched.

/** Larger ones are only named: a browser would take seconds, or all memory, to show them. */
const MOST_BYTES = 5 * 1024 * 1024;
const MOST_PIXELS = 40_000_000;

interface PictureProps {
  /** The bytes, as base64. */
  base64: string;
  /** What is said of it where it isn't shown. */
  words: string;
}

export function Picture({ base64, words }: PictureProps) {
  const found = useMemo(() => read(base64), [base64]);
  const address = useObjectUrl(typeof found === "string" ? null : found.blob);
  const [broken, setBroken] = useState(false);
  if (typeof found === "string" || broken) {
    const why = typeof found === "string" ? found : "its bytes are broken";
    return <p class="as-Muted as-Small as-Text">{`${words} (not shown: ${why})`}</p>;
  }
  const { type, width, height } = found.header;
  const kind = type.slice("image/".length).toUpperCase();
  const about = `${kind} · ${width} × ${height} · ${formatSize(found.blob.size)}`;
  return (
    <figure class="as-Picture">
      {address && <img src={address} alt={about} onError={() => setBroken(true)} />}
      <figcaption class="as-Muted as-Small">{about}</figcaption>
    </figure>
  );
}

interface Found {
  readonly blob: Blob;
  readonly header: ImageHeader;
}

/** The image, or why it isn't shown. */
function read(base64: string): Found | string {
  if ((base64.length * 3) / 4 > MOST_BYTES) return `larger than ${formatSize(MOST_BYTES)}`;
  let bytes: Uint8Array<ArrayBuffer>;
  try {
    bytes = bytesOf(base64);
  } catch {
    return "its bytes are broken";
  }
  const header = imageHeader(bytes);
  if (!header) return "it is no PNG, JPEG, GIF or WebP";
  if (header.width * header.height > MOST_PIXELS) return "it has too many pixels";
  return { blob: new Blob([bytes], { type: header.type }), header };
}

// ---- Named values: arguments, settings, members of a result.

/** Longer than this on one line is easier to read in a box. */
const INLINE = 72;
/** Looked at whole only up to here, before it is laid out on one line. */
const INLINE_SOURCE = 400;
/** More entries than this come in pieces. */
export const MAX_ENTRIES = 100;

export function Entries({ entries }: { entries: readonly Entry[] }) {
  if (entries.length === 0) return null;
  return (
    <dl class="as-Facts as-mod-values">
      {entries.slice(0, MAX_ENTRIES).map((entry, at) => (
        // A key may stand twice: its place is what tells it apart.
        <div key={at} class={cx("as-Fact", isBlock(entry.value) && "as-mod-block")}>
          <dt title={escapeInvisible(entry.name)}>{escapeInvisible(entry.name)}</dt>
          <dd>
            <ValueView value={entry.value} />
          </dd>
        </div>
      ))}
      {entries.length > MAX_ENTRIES && (
        <p class="as-Muted as-Small">{`${entries.length - MAX_ENTRIES} more values: see Raw.`}</p>
      )}
    </dl>
  );
}

export function ArgumentsView({ args }: { args: Arguments }) {
  if (args.kind === "value") return <ValueView value={args.value} />;
  if (args.kind === "entries") {
    return args.entries.length > 0 ? (
      <Entries entries={args.entries} />
    ) : (
      <p class="as-Muted as-Small">No arguments</p>
    );
  }
  return (
    <>
      <p class="as-Bad as-Small">The arguments aren't JSON:</p>
      <LongText text={args.text} code boxed />
    </>
  );
}

export function ValueView({ value }: { value: Value }) {
  const text = value.string;
  if (text !== undefined) return <StringView text={text} />;
  const messages = parseFrameworkMessages(value);
  if (messages) return <Nested messages={messages} />;
  if (value.members?.some(([, one]) => parseFrameworkMessages(one)))
    return <Holding members={value.members} />;
  const line = inline(value);
  if (line !== undefined)
    return <code class={cx("as-Code", classOf(value))}>{escapeInvisible(line)}</code>;
  return <LongText text={pretty(value.literal)} code boxed />;
}

/** As many of a value's messages are shown, the last ones. */
const MOST_NESTED = 30;

/** The messages that an argument is, or a member of a result: a graph's state holds the conversation. */
function Nested({ messages }: { messages: readonly Message[] }) {
  const hidden = Math.max(0, messages.length - MOST_NESTED);
  return (
    <div class="as-Nested">
      {hidden > 0 && <p class="as-Note">{`${hidden} earlier messages: see Raw.`}</p>}
      {messages.slice(hidden).map((message, at) => (
        <MessageView key={at} message={message} />
      ))}
    </div>
  );
}

/** A value that holds messages, by its members. */
function Holding({ members }: { members: readonly [string, Value][] }) {
  return (
    <div class="as-Nested">
      <Entries entries={members.map(([name, value]) => ({ name, value }))} />
    </div>
  );
}

function StringView({ text }: { text: string }) {
  if (text === "") return <span class="as-Muted as-Small">empty text</span>;
  if (isLong(text)) return <LongText text={text} code boxed />;
  // The text “5” is not the number 5.
  return (
    <code class="as-Code as-Text">
      {readsAsOther(text) ? JSON.stringify(text) : escapeInvisible(text)}
    </code>
  );
}

/** Whether a value takes lines of its own. */
function isBlock(value: Value): boolean {
  const text = value.string;
  if (text !== undefined) return isLong(text);
  return inline(value) === undefined || parseFrameworkMessages(value) !== undefined;
}

function isLong(text: string): boolean {
  return text.length > INLINE || text.includes("\n");
}

/** The value on one line, where it fits. */
function inline(value: Value): string | undefined {
  if (value.node.end - value.node.start > INLINE_SOURCE) return undefined;
  const line = oneLine(value.literal);
  return line.length <= INLINE ? line : undefined;
}

function classOf(value: Value): string | undefined {
  if (value.node.kind === "number") return "as-num";
  return value.node.kind === "literal" ? "as-kw" : undefined;
}

function readsAsOther(text: string): boolean {
  return /^(?:-?[0-9][0-9.eE+-]*|true|false|null|\[.*\]|\{.*\}|\s.*|.*\s|".*")$/.test(text);
}
