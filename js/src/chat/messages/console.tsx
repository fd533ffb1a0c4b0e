/** CONSOLE: what a program put out, as a terminal shows it; of much of it the end. */
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { CopyButton } from "../../inspector/copy";
import { countLines } from "../../inspector/fold";
import { visible } from "../../view/visible";
import { count } from "../../view/words";
import type { ShownMessage } from "../types";
import { beforeWords, earlierFrom, TAIL, tailFrom, useScrolls } from "./code_box";

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
export function printed(output: string): string {
  const text = output
    .replaceAll(ERASE, "")
    .replace(SEQUENCES, (sequence) => (/\[0?K$/.test(sequence) ? ERASE : ""))
    .replaceAll("\r\n", "\n");
  if (!MOVES.test(text)) return text;
  return text
    .split("\n")
    .map((line) => (MOVES.test(line) ? written(line) : line))
    .join("\n");
}

/** A line as it stands once it was written. */
function written(line: string): string {
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

export function Console({ message: { content, streaming } }: { message: ShownMessage }) {
  const text = useMemo(() => printed(content), [content]);
  const [back, setBack] = useState(0);
  const from = earlierFrom(text, tailFrom(text), back);
  const ref = useScrolls<HTMLPreElement>(text);
  useKeptEnd(ref, text);
  return (
    <div class="as-CodeBox as-mod-console">
      <div class="as-CodeBox-head">
        <span class="as-CodeBox-language">output</span>
        {from > 0 && (
          <button type="button" class="as-Link" onClick={() => setBack(back + TAIL)}>
            {beforeWords(text, from)}
          </button>
        )}
        <span class="as-Spring" />
        <span class="as-Muted">{count(countLines(text), "line")}</span>
        <CopyButton
          label="Copy the output"
          text={() => text}
          held={streaming ? "It isn’t complete yet" : null}
        />
      </div>
      <pre ref={ref} class="as-Code as-Console">
        {visible(text.slice(from)) || (streaming ? "" : "(no output)")}
      </pre>
    </div>
  );
}

/** As a terminal: the end is in sight, unless somebody has scrolled up. */
function useKeptEnd(ref: { current: HTMLElement | null }, text: string): void {
  const height = useRef(0);
  useLayoutEffect(() => {
    const box = ref.current;
    if (!box) return;
    const wasAtEnd = box.scrollTop + box.clientHeight >= height.current - 2;
    if (wasAtEnd) box.scrollTop = box.scrollHeight;
    height.current = box.scrollHeight;
  }, [text]);
}
