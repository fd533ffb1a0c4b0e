/** What was said in words: code between fences in boxes, `code` and **weight** within a line. All of it text. */
import { useMemo, useRef, useState } from "preact/hooks";
import { cut, type Limit, MORE, moreWords } from "../../inspector/fold";
import { visible } from "../../view/visible";
import { type Block, blocksOf, spansOf, within } from "./blocks";
import {
  beforeWords,
  Caret,
  CodeBox,
  earlierFrom,
  headTo,
  MESSAGE,
  TAIL,
  tailFrom,
} from "./code_box";

interface RichProps {
  text: string;
  /** More is on its way: its end is in sight, and stays so. */
  streaming?: boolean;
  limit?: Limit;
}

export function Rich({ text, streaming = false, limit = MESSAGE }: RichProps) {
  const came = useRef(streaming); // what was seen coming doesn't fold away at its end
  const [back, setBack] = useState(0);
  const [further, setFurther] = useState<number | null>(null);
  const blocks = useMemo(() => blocksOf(text), [text]);
  const start = came.current ? earlierFrom(text, tailFrom(text), back) : 0;
  const end = came.current ? text.length : (further ?? headTo(text, limit));
  return (
    <div class="as-Rich">
      {start > 0 && (
        <button type="button" class="as-Link as-Small" onClick={() => setBack(back + TAIL)}>
          {beforeWords(text, start)}
        </button>
      )}
      <Blocks blocks={blocks} text={text} start={start} end={end} streaming={streaming} />
      {streaming && blocks.length === 0 && <Caret />}
      {(end < text.length || further !== null) && (
        <div class="as-More">
          {end < text.length && (
            <button
              type="button"
              class="as-Link as-Small"
              onClick={() => setFurther(cut(text, end, MORE))}
            >
              {moreWords(text, end)}
            </button>
          )}
          {further !== null && (
            <button type="button" class="as-Link as-Small" onClick={() => setFurther(null)}>
              Fold
            </button>
          )}
        </div>
      )}
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
        const part = within(block, text, start, end);
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
          <Words key={at} text={part} streaming={more} />
        );
      })}
    </>
  );
}

function Words({ text, streaming }: { text: string; streaming: boolean }) {
  const spans = useMemo(() => spansOf(trimmed(text)), [text]);
  if (spans.length === 0 && !streaming) return null;
  return (
    <div class="as-Text">
      {spans.map(({ kind, text: part }, at) =>
        kind === "plain" ? (
          visible(part)
        ) : kind === "code" ? (
          <code key={at} class="as-Code">
            {visible(part)}
          </code>
        ) : (
          <b key={at}>{visible(part)}</b>
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
