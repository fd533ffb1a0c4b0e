/** A text of any length: a piece first, the rest on demand, its size named. */
import { useState } from "preact/hooks";
import { cx } from "../../view/classes";
import { visible } from "../../view/visible";
import { cut, FIRST, type Limit, MORE, moreWords } from "../fold";

interface LongTextProps {
  text: string;
  /** As code: one width a character, white space kept. */
  code?: boolean | undefined;
  /** In a box of its own. */
  boxed?: boolean | undefined;
  limit?: Limit | undefined;
}

export function LongText({ text, code, boxed, limit = FIRST }: LongTextProps) {
  const [shown, setShown] = useState<{ text: string; end: number } | null>(null);
  // Another text begins folded again.
  const end = shown?.text === text ? shown.end : cut(text, 0, limit);
  const part = visible(text.slice(0, end));
  const rest = end < text.length;
  return (
    <>
      {code ? (
        <pre class={cx("as-Text as-Code", boxed && "as-Pre")}>{part}</pre>
      ) : (
        <div class="as-Text">{part}</div>
      )}
      {(rest || shown?.text === text) && (
        <div class="as-More">
          {rest && (
            <button
              type="button"
              class="as-Link as-Small"
              onClick={() => setShown({ text, end: cut(text, end, MORE) })}
            >
              {moreWords(text, end)}
            </button>
          )}
          {shown?.text === text && (
            <button type="button" class="as-Link as-Small" onClick={() => setShown(null)}>
              Fold
            </button>
          )}
        </div>
      )}
    </>
  );
}
