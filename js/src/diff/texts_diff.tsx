/** Two JSON texts as a person reads them, or as JSON where that shows no difference. */

import { diffArrays } from "diff";
import { useMemo, useState } from "preact/hooks";
import { pretty } from "../inspector/json/print";
import { documentOf, parseContent } from "../inspector/parsed/content";
import type { Arguments, Entry, Message, ParsedContent, Part } from "../inspector/parsed/parts";
import type { ContentShape } from "../inspector/title";
import { formatCount } from "../view/format";
import { diffTexts, type Hunk, linesBetween } from "./lines";
import { type Block, DiffTable, type Sides } from "./table";

/** How differences are said. */
export interface DiffLabels {
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
  shape: ContentShape;
  before: string;
  after: string;
  words: DiffLabels;
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
  shape: ContentShape,
  before: string,
  after: string,
  words: DiffLabels,
): Block[] | undefined {
  if (before.length + after.length > READ_UP_TO) return undefined;
  const [one, other] = [documentOf(before), documentOf(after)];
  if (!one || !other) return undefined;
  const aligned = align(
    sectionsOf(parseContent(shape, one)),
    sectionsOf(parseContent(shape, other)),
  );
  return aligned.some(({ changed }) => changed) ? toBlocks(aligned, words) : undefined;
}

function toBlocks(aligned: readonly Aligned[], words: DiffLabels): Block[] {
  const blocks: Block[] = [];
  let same = 0;
  const flush = () => {
    if (same > 0) blocks.push({ head: `${formatCount(same, "part")} unchanged`, hunks: [] });
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

function toBlock({ before, after }: Aligned, words: DiffLabels): Block {
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

// ---- A reading as sections of lines, so that an edit is compared as a person reads it, not as JSON.

export interface Section {
  readonly title: string;
  /** A tool's name. */
  readonly name?: string | undefined;
  readonly text: string;
  /** Prose wraps as prose; everything else is code. */
  readonly prose: boolean;
}

export function sectionsOf(reading: ParsedContent): Section[] {
  switch (reading.kind) {
    case "prompt":
      return [
        ...reading.messages.flatMap((message) => ofMessage(message, message.role)),
        ...(reading.settings.length > 0 ? [code("Settings", entryLines(reading.settings))] : []),
        ...reading.tools.map((tool) => code("Tool", pretty(tool.value.literal), tool.name)),
      ];
    case "answer":
      return reading.messages.flatMap((message) => ofMessage(message, undefined));
    case "call":
      return [code("Tool call", argumentLines(reading.args), reading.name)];
    case "text":
      return [{ title: "Text", text: reading.text, prose: true }];
    case "entries":
      return [code("Values", entryLines(reading.entries))];
    case "data":
      return [code("Data", pretty(reading.value.literal))];
  }
}

function code(title: string, text: string, name?: string): Section {
  return { title, name, text, prose: false };
}

/** `title` undefined: each part by what it is. */
function ofMessage(message: Message, title: string | undefined): Section[] {
  return message.parts.map((part) => ofPart(part, title, message.name));
}

function ofPart(part: Part, title: string | undefined, name: string | undefined): Section {
  switch (part.kind) {
    case "call":
      return code("Tool call", argumentLines(part.args), part.name);
    case "result":
      return code(
        "Result",
        part.parts.map((one) => ofPart(one, undefined, undefined).text).join("\n"),
        part.name,
      );
    case "media":
      return code("Media", part.words);
    case "data":
      return code(title ?? "Data", pretty(part.value.literal), name);
    case "text":
      return { title: title ?? "Text", name, text: part.text, prose: title !== "tool" };
    default:
      return {
        title: part.kind === "thinking" ? "Thinking" : "Refusal",
        name,
        text: part.text,
        prose: true,
      };
  }
}

function argumentLines(args: Arguments): string {
  if (args.kind === "entries") return entryLines(args.entries);
  return args.kind === "value" ? (args.value.string ?? pretty(args.value.literal)) : args.text;
}

/** "path: src/cart.py", a text of several lines indented under its name. */
function entryLines(entries: readonly Entry[]): string {
  return entries
    .map(({ name, value }) => entryLine(name, value.string ?? pretty(value.literal)))
    .join("\n");
}

function entryLine(name: string, text: string): string {
  return text.includes("\n") ? `${name}:\n  ${text.replaceAll("\n", "\n  ")}` : `${name}: ${text}`;
}

/** What became of a section. */
export interface Aligned {
  readonly before: Section | undefined;
  readonly after: Section | undefined;
  readonly changed: boolean;
}

/** Sections of the original beside those of the edit: unchanged ones first find each other. */
export function align(before: readonly Section[], after: readonly Section[]): Aligned[] {
  const out: Aligned[] = [];
  let removed: Section[] = [];
  const changes = diffArrays([...before], [...after], { comparator: sameSection });
  for (const change of changes) {
    if (change.removed) {
      removed = change.value;
      continue;
    }
    const added = change.added ? change.value : [];
    out.push(...alignChanged(removed, added));
    removed = [];
    if (!change.added)
      out.push(...change.value.map((one) => ({ before: one, after: one, changed: false })));
  }
  return [...out, ...alignChanged(removed, [])];
}

/** Among changed sections, one goes with the next of the same title and name. */
function alignChanged(removed: readonly Section[], added: readonly Section[]): Aligned[] {
  const out: Aligned[] = [];
  let next = 0;
  for (const before of removed) {
    const found = added.findIndex(
      (one, at) => at >= next && one.title === before.title && one.name === before.name,
    );
    if (found === -1) {
      out.push({ before, after: undefined, changed: true });
      continue;
    }
    for (const after of added.slice(next, found))
      out.push({ before: undefined, after, changed: true });
    out.push({ before, after: added[found], changed: true });
    next = found + 1;
  }
  for (const after of added.slice(next)) out.push({ before: undefined, after, changed: true });
  return out;
}

function sameSection(a: Section, b: Section): boolean {
  return a.title === b.title && a.name === b.name && a.text === b.text;
}
