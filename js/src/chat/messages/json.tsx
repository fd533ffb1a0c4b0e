/** A JSON value, laid out on lines. */
import { useMemo } from "preact/hooks";
import { CopyButton } from "../../inspector/copy";
import { pretty } from "../../inspector/json/print";
import { LongText } from "../../inspector/show/long_text";
import { literal } from "./literal";

interface JsonProps {
  label: string;
  value: unknown;
}

export function Json({ label, value }: JsonProps) {
  // A text is shown as what it says, with its line ends.
  const text = useMemo(() => (typeof value === "string" ? value : pretty(literal(value))), [value]);
  return (
    <div class="as-Json">
      <div class="as-Json-head">
        <span class="as-Muted">{label}</span>
        <span class="as-Spring" />
        <CopyButton label={`Copy the ${label.toLowerCase()}`} text={() => text} />
      </div>
      {text === "" ? <p class="as-Muted">an empty text</p> : <LongText text={text} code boxed />}
    </div>
  );
}
