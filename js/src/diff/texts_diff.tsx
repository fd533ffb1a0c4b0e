/** Two JSON texts as a person reads them, or as JSON where that shows no difference. */
import { useMemo, useState } from "preact/hooks";
import { documentOf } from "../inspector/document";
import { pretty } from "../inspector/json/print";
import { read } from "../inspector/read/reading";
import type { Shape } from "../inspector/shape";
import { count } from "../view/words";
import { diffTexts, type Hunk, linesBetween } from "./lines";
import { type Aligned, align, type Section, sectionsOf } from "./sections";
import { type Block, DiffTable, type Sides } from "./table";

/** How differences are said. */
export interface DiffWords {
  /** What the table is. */
  label: string;
  /** Said of a part that only the second text has: " added by you". */
  added: string;
  /** Said of a part that only the first text has. */
  removed: string;
  /** Said where both say the same. */
  same: string;
}

interface TextsDiffProps {
  shape: Shape;
  before: string;
  after: string;
  words: DiffWords;
  sides: Sides;
}

/** Larger texts are compared as text only: reading them twice would freeze the page. */
const READ_UP_TO = 4_000_000;

export function TextsDiff({ shape, before, after, words, sides }: TextsDiffProps) {
  const readable = useMemo(
    () => readableBlocks(shape, before, after, words),
    [shape, before, after],
  );
  const [asJson, setAsJson] = useState(false);
  const json = asJson || readable === undefined;
  const blocks = useMemo(
    () => (json ? jsonBlocks(before, after) : (readable ?? [])),
    [json, readable, before, after],
  );
  return (
    <>
      {blocks.length > 0 ? (
        <DiffTable label={words.label} blocks={blocks} sides={sides} />
      ) : (
        <p class="as-Note">{words.same}</p>
      )}
      {readable && (
        <p class="as-Note">
          <button type="button" class="as-Link as-Small" onClick={() => setAsJson(!asJson)}>
            {asJson ? "Compare as read" : "Compare as JSON"}
          </button>
        </p>
      )}
    </>
  );
}

function jsonBlocks(before: string, after: string): Block[] {
  const hunks = diffTexts(pretty(before), pretty(after));
  return hunks.length > 0 ? [{ hunks }] : [];
}

/** By sections; undefined where they don't show the difference (an id, a number's spelling). */
function readableBlocks(
  shape: Shape,
  before: string,
  after: string,
  words: DiffWords,
): Block[] | undefined {
  if (before.length + after.length > READ_UP_TO) return undefined;
  const [one, other] = [documentOf(before), documentOf(after)];
  if (!one || !other) return undefined;
  const aligned = align(sectionsOf(read(shape, one)), sectionsOf(read(shape, other)));
  return aligned.some(({ changed }) => changed) ? toBlocks(aligned, words) : undefined;
}

function toBlocks(aligned: readonly Aligned[], words: DiffWords): Block[] {
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
    blocks.push(toBlock(one, words));
  }
  flush();
  return blocks;
}

function toBlock({ before, after }: Aligned, words: DiffWords): Block {
  const section = after ?? before;
  const fate = before && after ? "" : after ? words.added : words.removed;
  return {
    head: section && <SectionHead section={section} fate={fate} />,
    hunks: hunksOf(before?.text ?? "", after?.text ?? ""),
    prose: section?.prose ?? false,
  };
}

/** Short texts are shown whole: the surroundings are what makes a change understood. */
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
