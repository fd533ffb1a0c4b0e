/** One part of a message: text, a tool call, its result, or what is only named. */
import { Icon } from "../../icons/icon";
import { lazy, withStyles } from "../../view/lazy";
import { visible } from "../../view/visible";
import { size } from "../../view/words";
import { pretty } from "../json/print";
import type { Part } from "../read/types";
import { textBytes } from "../words";
import { FoldRow } from "./fold_row";
import { LongText } from "./long_text";
import { Picture } from "./picture";
import { ShownArguments } from "./value";

// ---- Texts that may be Markdown: whether one looks so, and what shows it.

/** A longer one is shown as text alone: it would be laid out whole. */
const LONGEST = 100_000;

const SIGNS = /^\s{0,3}(#{1,6}\s|[-*+]\s|\d+[.)]\s|>|```|~~~|\|.*\|)|\*\*\S|__\S|`[^`\n]+`|\]\(/m;

/** Whether a text has signs of Markdown. */
export function looksMarked(text: string): boolean {
  return text.length <= LONGEST && SIGNS.test(text);
}

export const Markdown = lazy<{ text: string }>(async () => {
  const { Markdown, styles } = await import("../markdown");
  return withStyles(Markdown, "markdown", styles);
});

interface PartProps {
  part: Part;
  /** Whether texts are data rather than prose: what tools say. */
  code?: boolean;
  /** Show a text as Markdown. */
  marked?: boolean;
}

function ShownPart({ part, code, marked }: PartProps) {
  switch (part.kind) {
    case "text":
      if (marked && looksMarked(part.text)) return <Markdown text={part.text} />;
      return <LongText text={part.text} code={code} />;
    case "thinking":
      return (
        <div class="as-Thinking">
          <FoldRow label="Thinking" figure={size(textBytes(part.text))}>
            {() => <LongText text={part.text} />}
          </FoldRow>
        </div>
      );
    case "refusal":
      return (
        <>
          <span class="as-Tag as-mod-bad">refused</span>
          <LongText text={part.text} />
        </>
      );
    case "call":
      return (
        <div class="as-Call">
          <div class="as-Call-head">
            <Icon name="tools" small />
            <span class="as-Muted">Calls</span>
            <code class="as-Code">{visible(part.name)}</code>
          </div>
          <ShownArguments args={part.args} />
        </div>
      );
    case "result":
      return <ShownResult part={part} />;
    case "media":
      if (part.image !== undefined) return <Picture base64={part.image} words={part.words} />;
      return <p class="as-Muted as-Small as-Text">{`${part.words} (not shown)`}</p>;
    case "data":
      return <LongText text={pretty(part.value.literal)} code boxed />;
  }
}

function ShownResult({ part }: { part: Extract<Part, { kind: "result" }> }) {
  return (
    <div class="as-Call">
      <div class="as-Call-head">
        <Icon name="tools" small />
        <span class="as-Muted">Result of</span>
        <code class="as-Code">{visible(part.name ?? "a tool")}</code>
        {part.failed && <span class="as-Tag as-mod-bad">failed</span>}
      </div>
      <Parts parts={part.parts} code />
    </div>
  );
}

interface PartsProps extends Omit<PartProps, "part"> {
  parts: readonly Part[];
}

export function Parts({ parts, code = false, marked = false }: PartsProps) {
  if (parts.length === 0) return <p class="as-Muted as-Small">Empty</p>;
  return (
    <>
      {parts.map((part, at) => (
        <ShownPart key={at} part={part} code={code} marked={marked} />
      ))}
    </>
  );
}
