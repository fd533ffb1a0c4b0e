/** Code in a box: its language, where it is from, how long it is, and a button that copies it. */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { CopyButton } from "../../inspector/copy";
import { countLines, cut, type Limit } from "../../inspector/fold";
import { LongText } from "../../inspector/show/long_text";
import { textBytes } from "../../inspector/words";
import { visible } from "../../view/visible";
import { count, size } from "../../view/words";

// ---- Which part of a text is shown: its beginning, or, of one that was seen coming, its end.
// Pure.

/** What a message shows at first. */
export const MESSAGE: Limit = { lines: 80, chars: 8_000 };
/** What a block of code shows at first. */
export const CODE: Limit = { lines: 40, chars: 6_000 };
/** Letters of a text that is still coming, or of output: its end. */
export const TAIL = 40_000;

/**
 * Where the shown end of a text begins. It goes on in steps, so that what is read stands still while
 * more comes, and at a line's beginning where one is near.
 */
export function tailFrom(text: string, most = TAIL): number {
  if (text.length <= most) return 0;
  const step = most / 2;
  const at = Math.floor((text.length - step) / step) * step;
  return lineFrom(text, at);
}

/** As many letters more before what is shown. */
export function earlierFrom(text: string, from: number, most: number): number {
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
export const headTo = (text: string, limit: Limit): number => cut(text, 0, limit);

/** What is said of the part before. */
export const beforeWords = (text: string, from: number): string =>
  `Show the ${size(textBytes(text.slice(0, from)))} before`;

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
        <span class="as-CodeBox-language as-Ellipsis">{visible(language) || "text"}</span>
        {note}
        <span class="as-Spring" />
        <span class="as-Muted">{count(countLines(whole), "line")}</span>
        <CopyButton
          label="Copy the code"
          text={() => whole}
          held={streaming ? "It isn’t complete yet" : null}
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
          {visible(text)}
          <Caret />
        </pre>
      ) : (
        <LongText text={text} code limit={CODE} />
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
