/** Code and what it printed, as a message has it. */

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { LongText } from "../../inspector/components/long_text";
import { countLines, foldEnd, type TextLimit, textBytes } from "../../inspector/fold";
import { Button, CopyButton } from "../../view/button";
import { escapeInvisible, formatCount, formatSize } from "../../view/format";
import { cx } from "../../view/hooks";
import type { ShownMessage, TranscriptModel } from "../types";

interface CodeProps {
  model: TranscriptModel;
  message: ShownMessage;
}

export function Code({ model, message }: CodeProps) {
  const { content, path, language, streaming } = message;
  if (content === "" && path !== null) return <FromFile model={model} message={message} />;
  const note = <Note message={message} />;
  return <CodeBox language={language ?? ""} text={content} note={note} streaming={streaming} />;
}

/** What it is, and which file. */
function Note({ message: { format, path } }: { message: ShownMessage }) {
  return (
    <>
      {format !== null && (
        <span class={cx("as-Tag as-Ellipsis", format === "result" && "as-mod-good")}>
          {escapeInvisible(format)}
        </span>
      )}
      {path !== null && (
        <span class="as-Muted as-Ellipsis as-PathStart" title={escapeInvisible(path)}>
          <bdi>{escapeInvisible(path)}</bdi>
        </span>
      )}
    </>
  );
}

function FromFile({ model, message }: CodeProps) {
  const { id, language } = message;
  const { ref, fetched, retry } = useFetched(id, () => model.loadSource(id));
  const note = <Note message={message} />;
  return (
    <div ref={ref}>
      {fetched.kind === "failed" ? (
        <ContentUnavailable
          what="The file can’t be shown"
          why={fetched.why}
          retry={retry}
          note={note}
        />
      ) : (
        <CodeBox
          language={language ?? ""}
          text={fetched.kind === "here" ? fetched.value.text : "…"}
          note={note}
          streaming={fetched.kind === "waiting"}
        />
      )}
    </div>
  );
}

interface ContentUnavailableProps {
  what: string;
  why: string;
  note?: preact.ComponentChildren;
  retry?: () => void;
}

/** Why something can't be shown, and a way to look again. */
export function ContentUnavailable({ what, why, note, retry }: ContentUnavailableProps) {
  return (
    <div class="as-NotHere">
      <div class="as-NotHere-head">
        <b>{what}</b>
        {note}
        {retry && (
          <Button
            icon="retry"
            class="as-NotHere-retry"
            hint="Read the file again"
            onClick={retry}
          />
        )}
      </div>
      <p class="as-Text">{escapeInvisible(why)}</p>
    </div>
  );
}

// ---- Which part of a text is shown: its beginning, or, of one that was seen coming, its end.
// Pure.

/** What a message shows at first. */
export const MESSAGE_LIMIT: TextLimit = { lines: 80, chars: 8_000 };
/** What a block of code shows at first. */
export const CODE_LIMIT: TextLimit = { lines: 40, chars: 6_000 };
/** Letters of a text that is still coming, or of output: its end. */
export const TAIL_CHARS = 40_000;

/**
 * Where the shown end of a text begins. It goes on in steps, so that what is read stands still while
 * more comes, and at a line's beginning where one is near.
 */
export function tailStart(text: string, most = TAIL_CHARS): number {
  if (text.length <= most) return 0;
  const step = most / 2;
  const at = Math.floor((text.length - step) / step) * step;
  return lineFrom(text, at);
}

/** As many letters more before what is shown. */
export function earlierStart(text: string, from: number, most: number): number {
  return from <= most ? 0 : lineFrom(text, from - most);
}

/** The beginning of the first line from here on; of a long one, this place or the next letter's. */
function lineFrom(text: string, at: number): number {
  const newline = text.indexOf("\n", at);
  if (newline !== -1 && newline - at < 2_000) return newline + 1;
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff ? at + 1 : at;
}

/** Up to where a text is shown at first, with a few lines' grace. */
export const headEnd = (text: string, limit: TextLimit): number => foldEnd(text, 0, limit);

/** What is said of the part before. */
export const showEarlierLabel = (text: string, from: number): string =>
  `Show the ${formatSize(textBytes(text.slice(0, from)))} before`;

// ---- Code in a box: its language, where it is from, how long it is, and a button that copies it.

interface CodeBoxProps {
  language: string;
  text: string;
  /** All of it, where `text` is a part: what is copied. */
  whole?: string;
  /** Said after the language: what it is, or which file. */
  note?: ComponentChildren;
  streaming?: boolean;
}

export function CodeBox({ language, text, whole = text, note, streaming = false }: CodeBoxProps) {
  return (
    <div class="as-CodeBox">
      <div class="as-CodeBox-head">
        <span class="as-CodeBox-language as-Ellipsis">{escapeInvisible(language) || "text"}</span>
        {note}
        <span class="as-Spring" />
        <span class="as-Muted">{formatCount(countLines(whole), "line")}</span>
        <CopyButton
          label="Copy the code"
          text={() => whole}
          disabledReason={streaming ? "It isn’t complete yet" : null}
        />
      </div>
      <Lines text={text} streaming={streaming} />
    </div>
  );
}

function Lines({ text, streaming }: { text: string; streaming: boolean }) {
  const ref = useScrolls<HTMLDivElement>(text);
  return (
    <div ref={ref} class="as-CodeBox-lines">
      {streaming ? (
        <pre class="as-Text as-Code">
          {escapeInvisible(text)}
          <Caret />
        </pre>
      ) : (
        <LongText text={text} code limit={CODE_LIMIT} />
      )}
    </div>
  );
}

/** Where more is coming. It stands still: what moves is the text. */
export function Caret() {
  return <span class="as-Caret" aria-hidden="true" />;
}

// ---- A box that may scroll: reached by Tab where it does, and by nobody who needn't.

/** For the box's `ref`; give the text, so that it is looked at again with another one. */
export function useScrolls<T extends HTMLElement>(text: string) {
  const ref = useRef<T>(null);
  useLayoutEffect(() => {
    const box = ref.current;
    if (!box) return;
    const look = () => {
      const scrolls =
        box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1;
      if (scrolls) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    };
    look();
    const observer = new ResizeObserver(look);
    observer.observe(box);
    return () => observer.disconnect();
  }, [text]);
  return ref;
}

// ---- What a terminal would show of a program's output, without its colours. Pure; linear in
// its input.

/** Sequences that a terminal acts on: CSI, OSC, DCS and their like, and single escapes. */
const SEQUENCES =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it is for
  /(?:\x1b\[|\x9b)[0-?]{0,64}[ -/]{0,8}[@-~]|\x1b[\]PX^_][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)|\x1b[ -/]{0,8}[0-~]/g;
/** Moves within a line: back to its beginning, back by one, and “forget the rest of it”. */
const MOVES = /[\r\b\u0091]/;
/** Stands for “erase to the end of the line” while the moves are made: nothing prints it. */
const ERASE = "\u0091";

/** The output as lines of text: what was written over is gone, colours are dropped. */
export function renderConsole(output: string): string {
  const text = output
    .replaceAll(ERASE, "")
    .replace(SEQUENCES, (sequence) => (/\[0?K$/.test(sequence) ? ERASE : ""))
    .replaceAll("\r\n", "\n");
  if (!MOVES.test(text)) return text;
  return text
    .split("\n")
    .map((line) => (MOVES.test(line) ? renderLine(line) : line))
    .join("\n");
}

/** A line as it stands once it was written. */
function renderLine(line: string): string {
  const cells: string[] = [];
  let at = 0;
  for (const char of line) {
    if (char === "\r") at = 0;
    else if (char === "\b") at = Math.max(0, at - 1);
    else if (char === ERASE) cells.length = Math.min(cells.length, at);
    else cells[at++] = char;
  }
  return cells.join("");
}

// ---- CONSOLE: what a program put out, as a terminal shows it; of much of it the end.

export function Console({ message: { content, streaming } }: { message: ShownMessage }) {
  const text = useMemo(() => renderConsole(content), [content]);
  const [back, setBack] = useState(0);
  const from = earlierStart(text, tailStart(text), back);
  const ref = useScrolls<HTMLPreElement>(text);
  useStickToEnd(ref, text);
  return (
    <div class="as-CodeBox as-mod-console">
      <div class="as-CodeBox-head">
        <span class="as-CodeBox-language">output</span>
        {from > 0 && (
          <button type="button" class="as-Link" onClick={() => setBack(back + TAIL_CHARS)}>
            {showEarlierLabel(text, from)}
          </button>
        )}
        <span class="as-Spring" />
        <span class="as-Muted">{formatCount(countLines(text), "line")}</span>
        <CopyButton
          label="Copy the output"
          text={() => text}
          disabledReason={streaming ? "It isn’t complete yet" : null}
        />
      </div>
      <pre ref={ref} class="as-Code as-Console">
        {escapeInvisible(text.slice(from)) || (streaming ? "" : "(no output)")}
      </pre>
    </div>
  );
}

/** As a terminal: the end is in sight, unless somebody has scrolled up. */
function useStickToEnd(ref: { current: HTMLElement | null }, text: string): void {
  const height = useRef(0);
  useLayoutEffect(() => {
    const box = ref.current;
    if (!box) return;
    const wasAtEnd = box.scrollTop + box.clientHeight >= height.current - 2;
    if (wasAtEnd) box.scrollTop = box.scrollHeight;
    height.current = box.scrollHeight;
  }, [text]);
}

// ---- What a message needs from the kernel, asked for once somebody looks at the message.

export type FetchState<T> =
  | { readonly kind: "waiting" }
  | { readonly kind: "here"; readonly value: T }
  | { readonly kind: "failed"; readonly why: string };

/** Looked for this far outside of what is in sight. */
const AHEAD = "400px";

/**
 * For the element that shows it: `ref`. A failure can be tried again.
 *
 * @param of What it belongs to: of another message another one is fetched.
 */
export function useFetched<T>(of: string, load: () => Promise<T>) {
  const ref = useRef<HTMLDivElement>(null);
  const [tries, setTries] = useState(0);
  const [fetched, setFetched] = useState<FetchState<T>>({ kind: "waiting" });
  useEffect(() => {
    let wanted = true;
    setFetched({ kind: "waiting" });
    const fetch = async () => {
      try {
        const value = await load();
        if (wanted) setFetched({ kind: "here", value });
      } catch (error) {
        if (wanted) setFetched({ kind: "failed", why: (error as Error).message });
      }
    };
    const leave = onFirstVisible(ref.current, () => void fetch());
    return () => {
      wanted = false;
      leave();
    };
  }, [of, tries]);
  return { ref, fetched, retry: () => setTries(tries + 1) };
}

function onFirstVisible(element: Element | null, seen: () => void): () => void {
  if (!element) return () => {};
  const observer = new IntersectionObserver(
    (entries) => {
      if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
      observer.disconnect();
      seen();
    },
    { rootMargin: AHEAD },
  );
  observer.observe(element);
  return () => observer.disconnect();
}
