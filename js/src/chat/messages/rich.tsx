/** A message's words: paragraphs, lists of code, and the little Markdown that chats have. */
import { useMemo, useRef, useState } from "preact/hooks";
import { ShowMore } from "../../inspector/components/long_text";
import type { TextLimit } from "../../inspector/fold";
import { escapeInvisible } from "../../view/format";
import {
  Caret,
  CodeBox,
  earlierStart,
  headEnd,
  MESSAGE_LIMIT,
  showEarlierLabel,
  TAIL_CHARS,
  tailStart,
} from "./code";

interface FormattedTextProps {
  text: string;
  /** More is on its way: its end is in sight, and stays so. */
  streaming?: boolean;
  limit?: TextLimit;
}

export function FormattedText({
  text,
  streaming = false,
  limit = MESSAGE_LIMIT,
}: FormattedTextProps) {
  const came = useRef(streaming); // what was seen coming doesn't fold away at its end
  const [back, setBack] = useState(0);
  const [further, setFurther] = useState<number | null>(null);
  const blocks = useMemo(() => blocksOf(text), [text]);
  const start = came.current ? earlierStart(text, tailStart(text), back) : 0;
  const end = came.current ? text.length : (further ?? headEnd(text, limit));
  return (
    <div class="as-Rich">
      {start > 0 && (
        <button type="button" class="as-Link as-Small" onClick={() => setBack(back + TAIL_CHARS)}>
          {showEarlierLabel(text, start)}
        </button>
      )}
      <Blocks blocks={blocks} text={text} start={start} end={end} streaming={streaming} />
      {streaming && blocks.length === 0 && <Caret />}
      <ShowMore text={text} end={end} further={further !== null} onEnd={setFurther} />
    </div>
  );
}

interface BlocksProps {
  blocks: readonly Block[];
  text: string;
  start: number;
  end: number;
  streaming: boolean;
}

function Blocks({ blocks, text, start, end, streaming }: BlocksProps) {
  const last = blocks.length - 1;
  return (
    <>
      {blocks.map((block, at) => {
        const part = visiblePart(block, text, start, end);
        if (part === null) return null;
        const more = streaming && at === last;
        return block.kind === "code" ? (
          <CodeBox
            key={at}
            language={block.info}
            text={part}
            whole={text.slice(block.start, block.end)}
            streaming={more}
          />
        ) : (
          <RichText key={at} text={part} streaming={more} />
        );
      })}
    </>
  );
}

function RichText({ text, streaming }: { text: string; streaming: boolean }) {
  const spans = useMemo(() => spansOf(trimmed(text)), [text]);
  if (spans.length === 0 && !streaming) return null;
  return (
    <div class="as-Text">
      {spans.map(({ kind, text: part }, at) =>
        kind === "plain" ? (
          escapeInvisible(part)
        ) : kind === "code" ? (
          <code key={at} class="as-Code">
            {escapeInvisible(part)}
          </code>
        ) : (
          <b key={at}>{escapeInvisible(part)}</b>
        ),
      )}
      {streaming && <Caret />}
    </div>
  );
}

/** Without the empty lines around it: boxes keep their distance themselves. */
function trimmed(text: string): string {
  return text.replace(/^(?:[ \t]*\r?\n)+/, "").trimEnd();
}

// ---- A text as what stands between its fences, and within them. Pure; one look at each line.

export interface Block {
  readonly kind: "text" | "code";
  /** What follows the fence's marks: a language, mostly. */
  readonly info: string;
  /** Where its text begins and ends, without the fences. */
  readonly start: number;
  readonly end: number;
}

interface Fence {
  readonly mark: string;
  readonly length: number;
  readonly info: string;
}

/** Further in than this, a fence is a part of the text. */
const INDENT = 8;
const FENCE = new RegExp(`^ {0,${INDENT}}(\`{3,}|~{3,})([^\\n]*)$`);

/** The blocks of a text, in order. A fence that isn't closed, as while it is written, goes to the end. */
export function blocksOf(text: string): Block[] {
  const blocks: Block[] = [];
  let open: Fence | null = null;
  let start = 0;
  const put = (end: number) => {
    const info = open?.info ?? "";
    if (open || end > start) blocks.push({ kind: open ? "code" : "text", info, start, end });
  };
  for (let at = 0; at < text.length; ) {
    const newline = text.indexOf("\n", at);
    const end = newline === -1 ? text.length : newline;
    const fence = fenceIn(text, at, end);
    if (fence && (open === null ? opens(fence) : closes(open, fence))) {
      put(Math.max(start, at - 1)); // without the line's end before it
      open = open === null ? fence : null;
      start = Math.min(end + 1, text.length);
    }
    at = end + 1;
  }
  if (start < text.length || open) put(text.length);
  return blocks;
}

function fenceIn(text: string, start: number, end: number): Fence | null {
  if (!" `~".includes(text.charAt(start))) return null;
  const found = FENCE.exec(text.slice(start, end).trimEnd());
  if (!found) return null;
  const marks = found[1] ?? "";
  return { mark: marks.charAt(0), length: marks.length, info: (found[2] ?? "").trim() };
}

/** A line as ```this``` is code within a text. */
function opens({ mark, info }: Fence): boolean {
  return mark === "~" || !info.includes("`");
}

/** Within a fence shorter ones, and those of the other mark, are text. */
function closes(open: Fence, { mark, length, info }: Fence): boolean {
  return mark === open.mark && length >= open.length && info === "";
}

/** A part of a text within a line: plain, code, or strong. */
export interface Span {
  readonly kind: "plain" | "code" | "strong";
  readonly text: string;
}

const MARKED = /`([^`\n]+)`|\*\*([^*\s][^*\n]*)\*\*/g;
/** Longer texts are shown as they are: thousands of elements are no help. */
const MAX_MARKED_CHARS = 20_000;

/** The parts of a text. */
export function spansOf(text: string): Span[] {
  if (text.length > MAX_MARKED_CHARS) return [{ kind: "plain", text }];
  const spans: Span[] = [];
  let from = 0;
  for (const found of text.matchAll(MARKED)) {
    const [all, code, strong] = found;
    if (found.index > from) spans.push({ kind: "plain", text: text.slice(from, found.index) });
    spans.push(
      code === undefined ? { kind: "strong", text: strong ?? "" } : { kind: "code", text: code },
    );
    from = found.index + all.length;
  }
  if (from < text.length) spans.push({ kind: "plain", text: text.slice(from) });
  return spans;
}

/** A block's text where only a part of the whole is shown; null where none of it is. */
export function visiblePart(block: Block, text: string, start: number, end: number): string | null {
  const from = Math.max(block.start, start);
  const to = Math.min(block.end, end);
  if (from > to || (from === to && block.start !== block.end)) return null;
  return text.slice(from, to);
}
