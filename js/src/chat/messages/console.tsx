/** CONSOLE: what a program put out, as a terminal shows it; of much of it the end. */
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { CopyButton } from "../../inspector/copy";
import { countLines } from "../../inspector/fold";
import { visible } from "../../view/visible";
import { count } from "../../view/words";
import type { ShownMessage } from "../types";
import { beforeWords, earlierFrom, TAIL, tailFrom } from "./folding";
import { useScrolls } from "./scrolls";
import { printed } from "./terminal";

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
