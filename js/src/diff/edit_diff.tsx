/** The original beside the edit that stands in its place, as a person reads both. */
import { useMemo, useRef, useState } from "preact/hooks";
import { Icon } from "../icons/icon";
import { documentOf } from "../inspector/body";
import { pretty } from "../inspector/json/print";
import { read, type Shape } from "../inspector/read/reading";
import { count } from "../view/words";
import { diffTexts, type Hunk, linesBetween } from "./lines";
import { type Aligned, align, type Section, sectionsOf } from "./sections";
import { type Block, DiffTable, type Sides } from "./table";
import { useSides } from "./width";

export interface EditDiffProps {
  shape: Shape;
  original: string;
  edited: string;
  /** Said beside "Original" and "Edited". */
  originalNote: string;
  editedTitle: string;
  editedNote: string;
}

/** Larger texts are compared as text only: reading them twice would freeze the page. */
const READ_UP_TO = 4_000_000;

export function EditDiff(props: EditDiffProps) {
  const { shape, original, edited } = props;
  const pane = useRef<HTMLDivElement>(null);
  const sides = useSides(pane);
  const readable = useMemo(
    () => readableBlocks(shape, original, edited),
    [shape, original, edited],
  );
  const [asJson, setAsJson] = useState(false);
  const json = asJson || readable === undefined;
  const blocks = useMemo(
    () => (json ? jsonBlocks(original, edited) : (readable ?? [])),
    [json, readable],
  );
  return (
    <div ref={pane}>
      <Heads {...props} sides={sides} />
      {blocks.length > 0 ? (
        <DiffTable label="Original and edit" blocks={blocks} sides={sides} />
      ) : (
        <p class="as-Note">The edit says the same as the original; only its spelling differs.</p>
      )}
      {readable && (
        <p class="as-Note">
          <button type="button" class="as-Link as-Small" onClick={() => setAsJson(!asJson)}>
            {asJson ? "Compare as read" : "Compare as JSON"}
          </button>
        </p>
      )}
    </div>
  );
}

function Heads({ originalNote, editedTitle, editedNote, sides }: EditDiffProps & { sides: Sides }) {
  return (
    <div class={`as-Sides as-mod-${sides}`}>
      <div>
        <span class="as-Actor as-mod-system">
          <span class="as-Diff-sign as-Bad">−</span>
          <b>Original</b>
        </span>
        <span class="as-Muted as-Ellipsis">{originalNote}</span>
      </div>
      <div>
        <span class="as-Actor as-mod-you">
          <Icon name="user" small />
          <b>{editedTitle}</b>
        </span>
        <span class="as-Muted as-Ellipsis">{editedNote}</span>
      </div>
    </div>
  );
}

function jsonBlocks(original: string, edited: string): Block[] {
  const hunks = diffTexts(pretty(original), pretty(edited));
  return hunks.length > 0 ? [{ hunks }] : [];
}

/** By sections; undefined where they don't show the difference (an id, a number's spelling). */
function readableBlocks(shape: Shape, original: string, edited: string): Block[] | undefined {
  if (original.length + edited.length > READ_UP_TO) return undefined;
  const [before, after] = [documentOf(original), documentOf(edited)];
  if (!before || !after) return undefined;
  const aligned = align(sectionsOf(read(shape, before)), sectionsOf(read(shape, after)));
  return aligned.some((one) => one.changed) ? toBlocks(aligned) : undefined;
}

function toBlocks(aligned: readonly Aligned[]): Block[] {
  const blocks: Block[] = [];
  let same = 0;
  const flush = () => {
    if (same > 0) blocks.push({ head: `${count(same, "part")} unchanged`, hunks: [] });
    same = 0;
  };
  for (const one of aligned) {
    if (!one.changed) {
      same += 1;
      continue;
    }
    flush();
    blocks.push(toBlock(one));
  }
  flush();
  return blocks;
}

function toBlock({ before, after }: Aligned): Block {
  const section = after ?? before;
  const fate = before && after ? "" : after ? " added by you" : " removed by you";
  return {
    head: section && <SectionHead section={section} fate={fate} />,
    hunks: hunksOf(before?.text ?? "", after?.text ?? ""),
    prose: section?.prose ?? false,
  };
}

/** Short texts are shown whole: the surroundings are what makes an edit understood. */
const WHOLE = 24;

function hunksOf(before: string, after: string): Hunk[] {
  const lines = linesBetween(before, after);
  return lines.length <= WHOLE ? [{ lines }] : diffTexts(before, after);
}

function SectionHead({ section, fate }: { section: Section; fate: string }) {
  return (
    <>
      <b>{section.title}</b>
      {section.name && <code class="as-Code">{` ${section.name}`}</code>}
      {fate}
    </>
  );
}
