/** A JSON value, laid out on lines. */
import { useMemo } from "preact/hooks";
import { CopyButton } from "../../inspector/copy";
import { pretty } from "../../inspector/json/print";
import { LongText } from "../../inspector/show/long_text";

// ---- JSON values as JSON text, whole numbers of any size as they are. Pure.

/** Deeper than this nobody looks. */
const DEEPEST = 200;

/** The JSON text of a value. */
export function literal(value: unknown, depth = 0): string {
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (depth > DEEPEST) return '"…"';
  if (Array.isArray(value)) return `[${value.map((each) => literal(each, depth + 1)).join(",")}]`;
  const members = Object.entries(value).map(
    ([name, each]) => `${JSON.stringify(name)}:${literal(each, depth + 1)}`,
  );
  return `{${members.join(",")}}`;
}

/** Letters of a value on one line. */
const SHORT = 60;
/** Values of a call that are named on its line. */
const NAMED = 4;

/** The arguments of a call on one line, as a program would write them: `path="a.py", lines=3`. */
export function briefly(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value !== "object" || Array.isArray(value)) return short(value);
  const members = Object.entries(value);
  const named = members.slice(0, NAMED).map(([name, each]) => `${name}=${short(each)}`);
  return [...named, ...(members.length > NAMED ? ["…"] : [])].join(", ");
}

/** A value on one line, cut where it is long. */
export function short(value: unknown): string {
  // Of a long text only its beginning is written out.
  const text = literal(typeof value === "string" ? value.slice(0, 2 * SHORT) : value);
  return text.length > SHORT ? `${text.slice(0, SHORT - 1)}…` : text;
}

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
