/** Code in a box: its language, where it is from, how long it is, and a button that copies it. */
import type { ComponentChildren } from "preact";
import { CopyButton } from "../../inspector/copy";
import { countLines } from "../../inspector/fold";
import { LongText } from "../../inspector/show/long_text";
import { visible } from "../../view/visible";
import { count } from "../../view/words";
import { Caret } from "./caret";
import { CODE } from "./folding";
import { useScrolls } from "./scrolls";

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
