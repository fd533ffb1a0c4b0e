/** A text as what stands between its fences, and within them. Pure; one look at each line. */

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
const MARKED_MOST = 20_000;

/** The parts of a text. */
export function spansOf(text: string): Span[] {
  if (text.length > MARKED_MOST) return [{ kind: "plain", text }];
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
export function within(block: Block, text: string, start: number, end: number): string | null {
  const from = Math.max(block.start, start);
  const to = Math.min(block.end, end);
  if (from > to || (from === to && block.start !== block.end)) return null;
  return text.slice(from, to);
}
