/** Named values: arguments, settings, members of a result. */
import { cx } from "../../view/classes";
import { visible } from "../../view/visible";
import type { Value } from "../json/node";
import { oneLine, pretty } from "../json/print";
import type { Arguments, Entry } from "../read/types";
import { LongText } from "./long_text";

/** Longer than this on one line is easier to read in a box. */
const INLINE = 72;
/** Looked at whole only up to here, before it is laid out on one line. */
const INLINE_SOURCE = 400;
/** More entries than this come in pieces. */
export const MOST_ENTRIES = 100;

export function Entries({ entries }: { entries: readonly Entry[] }) {
  if (entries.length === 0) return null;
  return (
    <dl class="as-Facts as-mod-values">
      {entries.slice(0, MOST_ENTRIES).map((entry, at) => (
        // A key may stand twice: its place is what tells it apart.
        <div key={at} class={cx("as-Fact", isBlock(entry.value) && "as-mod-block")}>
          <dt title={visible(entry.name)}>{visible(entry.name)}</dt>
          <dd>
            <ShownValue value={entry.value} />
          </dd>
        </div>
      ))}
      {entries.length > MOST_ENTRIES && (
        <p class="as-Muted as-Small">{`${entries.length - MOST_ENTRIES} more values: see Raw.`}</p>
      )}
    </dl>
  );
}

export function ShownArguments({ args }: { args: Arguments }) {
  if (args.kind === "value") return <ShownValue value={args.value} />;
  if (args.kind === "entries") {
    return args.entries.length > 0 ? (
      <Entries entries={args.entries} />
    ) : (
      <p class="as-Muted as-Small">No arguments</p>
    );
  }
  return (
    <>
      <p class="as-Bad as-Small">The arguments aren't JSON:</p>
      <LongText text={args.text} code boxed />
    </>
  );
}

export function ShownValue({ value }: { value: Value }) {
  const text = value.string;
  if (text !== undefined) return <ShownString text={text} />;
  const line = inline(value);
  if (line !== undefined) return <code class={cx("as-Code", classOf(value))}>{visible(line)}</code>;
  return <LongText text={pretty(value.literal)} code boxed />;
}

function ShownString({ text }: { text: string }) {
  if (text === "") return <span class="as-Muted as-Small">empty text</span>;
  if (isLong(text)) return <LongText text={text} code boxed />;
  // The text “5” is not the number 5.
  return (
    <code class="as-Code as-Text">{readsAsOther(text) ? JSON.stringify(text) : visible(text)}</code>
  );
}

/** Whether a value takes lines of its own. */
function isBlock(value: Value): boolean {
  const text = value.string;
  return text === undefined ? inline(value) === undefined : isLong(text);
}

function isLong(text: string): boolean {
  return text.length > INLINE || text.includes("\n");
}

/** The value on one line, where it fits. */
function inline(value: Value): string | undefined {
  if (value.node.end - value.node.start > INLINE_SOURCE) return undefined;
  const line = oneLine(value.literal);
  return line.length <= INLINE ? line : undefined;
}

function classOf(value: Value): string | undefined {
  if (value.node.kind === "number") return "as-num";
  return value.node.kind === "literal" ? "as-kw" : undefined;
}

function readsAsOther(text: string): boolean {
  return /^(?:-?[0-9][0-9.eE+-]*|true|false|null|\[.*\]|\{.*\}|\s.*|.*\s|".*")$/.test(text);
}
