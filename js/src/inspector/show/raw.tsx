/** The exact JSON text: laid out on lines, or just as the agent sent it. */
import { useMemo, useState } from "preact/hooks";
import { FIRST_ALONE } from "../fold";
import { pretty } from "../json/print";
import { LongText } from "./long_text";

/** Larger texts are shown as sent at first, so that opening Raw stays quick. */
const LAID_OUT_AT_ONCE = 4_000_000;

export function Raw({ text, note }: { text: string; note: string }) {
  const [asSent, setAsSent] = useState(text.length > LAID_OUT_AT_ONCE);
  const laid = useMemo(() => (asSent ? text : pretty(text)), [text, asSent]);
  return (
    <div class="as-Alone">
      <div class="as-RawBar">
        <span class="as-Muted as-Small as-Ellipsis">{note}</span>
        <span class="as-Spring" />
        <button
          type="button"
          class="as-Link as-Small"
          aria-pressed={asSent}
          title="Only white space differs: no value is re-encoded"
          onClick={() => setAsSent(!asSent)}
        >
          {asSent ? "Lay out on lines" : "As sent"}
        </button>
      </div>
      <LongText text={laid} code limit={FIRST_ALONE} />
    </div>
  );
}
