/** One value as an input, with what it was and the way back. */
import { useId, useMemo, useState } from "preact/hooks";
import { markOf } from "../inspector/marks";
import { LongText } from "../inspector/show/long_text";
import { textBytes } from "../inspector/words";
import { cx } from "../view/classes";
import { hiddenIn } from "../view/visible";
import { size } from "../view/words";
import { type Field, inputText } from "./fields";
import type { EditSession } from "./session";

interface FieldInputProps {
  session: EditSession;
  field: Field;
  /** Said by screen readers where the label alone is not enough: "message 3, user, content". */
  name: string;
  /** Prose in the view's own font; else code. */
  prose: boolean;
  showOriginal: boolean;
  onInputRef: ((element: HTMLTextAreaElement | HTMLInputElement | null) => void) | null;
}

/** A longer text is only edited as JSON: a text area would crawl. */
const LONGEST = 300_000;
const MOST_ROWS = 18;

export function FieldInput(props: FieldInputProps) {
  const { session, field, name, prose } = props;
  const errorId = useId();
  const unfit = session.unfit.value;
  const own = unfit?.field.id === field.id ? unfit : null;
  const changed = session.isChanged(field);
  const value = useTyped(own?.input ?? inputText(field), field);
  const readOnly = !session.canEdit(field);
  const mark = markOf(field.value);

  if (value.text.length > LONGEST) {
    return (
      <p class="as-Muted as-Small">{`${size(textBytes(value.text))}: too long for a field, edit it as JSON.`}</p>
    );
  }
  const common = {
    class: cx("as-Input", !prose && "as-mod-code"),
    value: value.text,
    readOnly,
    "aria-label": name,
    "aria-invalid": own !== null,
    "aria-describedby": errorId,
    spellcheck: false,
    onInput: (event: Event) => {
      const typed = (event.currentTarget as HTMLInputElement).value;
      value.onType(typed);
      session.setField(field, typed);
    },
    onBlur: value.onLeave,
  };
  const short = field.kind === "json" && !value.text.includes("\n") && value.text.length < 24;
  return (
    <div class={cx("as-Field", changed && "as-mod-changed", short && "as-mod-short")}>
      {short ? (
        <input
          {...common}
          ref={props.onInputRef}
          inputMode={field.value.node.kind === "number" ? "decimal" : "text"}
        />
      ) : (
        <textarea {...common} ref={props.onInputRef} rows={rowsOf(value.text)} />
      )}
      {changed && <Was session={session} field={field} whole={props.showOriginal} />}
      <div id={errorId} role="alert" class="as-Field-error">
        {own && `Not JSON: ${own.words}.`}
      </div>
      {mark && <p class="as-Field-hidden">{`Read-only: ${mark.why}.`}</p>}
      <Hidden text={value.text} />
    </div>
  );
}

/** A text area shows nothing where such characters stand: they are named beneath. */
function Hidden({ text }: { text: string }) {
  const found = useMemo(() => hiddenIn(text), [text]);
  if (found.length === 0) return null;
  return (
    <p class="as-Field-hidden">{`Holds characters that can’t be seen: ${found.join(", ")}`}</p>
  );
}

/**
 * What stands in the input while it is typed in: exactly what was typed. The JSON that comes of it may be
 * spelled otherwise (a space less around a list), and must not move the cursor.
 */
function useTyped(text: string, field: Field) {
  const [typed, setTyped] = useState<{ typed: string; stands: string } | null>(null);
  const holds =
    typed !== null &&
    (field.kind === "text" ? typed.typed === text : typed.typed.trim() === typed.stands);
  return {
    text: holds ? (typed?.typed ?? text) : text,
    onType: (next: string) => setTyped({ typed: next, stands: next.trim() }),
    onLeave: () => setTyped(null),
  };
}

/** How high a text area is where the browser can't fit it to its text. */
function rowsOf(text: string): number {
  const lines = text
    .split("\n", MOST_ROWS)
    .reduce((sum, line) => sum + 1 + Math.floor(line.length / 70), 0);
  return Math.min(MOST_ROWS, Math.max(1, lines));
}

const SHORT = 60;

function Was({ session, field, whole }: { session: EditSession; field: Field; whole: boolean }) {
  const original = session.originalOf(field);
  if (!original) return <div class="as-Was">Added by you</div>;
  const text = inputText(original);
  const line = text.split("\n", 1)[0] ?? "";
  const short =
    line.length > SHORT || line.length < text.length ? `${line.slice(0, SHORT)}…` : line;
  return (
    <>
      <div class="as-Was">
        <span>Original</span>
        {!whole && <del title={text.slice(0, 2000)}>{short === "" ? "empty" : short}</del>}
        <button
          type="button"
          class="as-Link"
          title="Put the original back in this field"
          onClick={() => session.restore(field)}
        >
          Restore
        </button>
      </div>
      {whole && (
        <div class="as-WasWhole">
          <LongText text={text} code />
        </div>
      )}
    </>
  );
}
