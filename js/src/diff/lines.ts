/** What differs between two texts, by lines and by words, and diffs that came as text. Pure. */
import { diffLines, diffWordsWithSpace } from "diff";

export interface Line {
  readonly kind: "same" | "del" | "add";
  readonly text: string;
  /** Its number before, from 1; undefined for an added line. */
  readonly old: number | undefined;
  /** Its number after. */
  readonly now: number | undefined;
}

/** Changed lines that stand together, with their surroundings. */
export interface Hunk {
  readonly lines: readonly Line[];
  /** What it stands in, as git found it: "def total(self):". */
  readonly enclosing?: string | undefined;
}

/** How many unchanged lines stand around a change. */
const AROUND = 3;
/** Texts that differ in more lines than this are shown as one taken out and one put in. */
const MOST_EDITS = 4000;
const MOST_MS = 400;

/** The hunks between two texts; none where they are the same. */
export function diffTexts(before: string, after: string): Hunk[] {
  if (before === after) return [];
  return toHunks(linesBetween(before, after));
}

/** Every line of both texts. */
export function linesBetween(before: string, after: string): Line[] {
  // Whether the last line ends in a line break is no difference that a person looks for.
  const [left, right] = [ended(before), ended(after)];
  const options = { maxEditLength: MOST_EDITS, timeout: MOST_MS };
  const changes = diffLines(left, right, options) ?? [
    { value: left, removed: true, added: false },
    { value: right, removed: false, added: true },
  ];
  const lines: Line[] = [];
  let old = 1;
  let now = 1;
  for (const change of changes) {
    for (const text of split(change.value)) {
      if (change.removed) lines.push({ kind: "del", text, old: old++, now: undefined });
      else if (change.added) lines.push({ kind: "add", text, old: undefined, now: now++ });
      else lines.push({ kind: "same", text, old: old++, now: now++ });
    }
  }
  return lines;
}

function ended(text: string): string {
  return text === "" || text.endsWith("\n") ? text : `${text}\n`;
}

function split(text: string): string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

function toHunks(lines: readonly Line[]): Hunk[] {
  const hunks: Hunk[] = [];
  let start = -1;
  let end = -1;
  lines.forEach((line, at) => {
    if (line.kind === "same") return;
    if (start !== -1 && at - AROUND > end) {
      hunks.push({ lines: lines.slice(start, end) });
      start = -1;
    }
    if (start === -1) start = Math.max(0, at - AROUND);
    end = Math.min(lines.length, at + 1 + AROUND);
  });
  if (start !== -1) hunks.push({ lines: lines.slice(start, end) });
  return hunks;
}

/** What stands beside what. */
export interface Pair {
  readonly left: Line | undefined;
  readonly right: Line | undefined;
}

/** Lines side by side: the first line taken out beside the first put in, and so on. */
export function sideBySideLines(lines: readonly Line[]): Pair[] {
  const out: Pair[] = [];
  let removed: Line[] = [];
  let added: Line[] = [];
  const flush = () => {
    for (let at = 0; at < Math.max(removed.length, added.length); at += 1) {
      out.push({ left: removed[at], right: added[at] });
    }
    removed = [];
    added = [];
  };
  for (const line of lines) {
    if (line.kind === "del") {
      if (added.length > 0) flush();
      removed.push(line);
    } else if (line.kind === "add") added.push(line);
    else {
      flush();
      out.push({ left: line, right: line });
    }
  }
  flush();
  return out;
}

/** Lines one under the other, with the line each stood beside: words are marked against that one. */
export function unifiedLines(lines: readonly Line[]): { line: Line; beside: Line | undefined }[] {
  const beside = new Map<Line, Line | undefined>();
  for (const { left, right } of sideBySideLines(lines)) {
    if (left && left !== right) beside.set(left, right);
    if (right && left !== right) beside.set(right, left);
  }
  return lines.map((line) => ({ line, beside: beside.get(line) }));
}

// ---- A git diff as text to hunks: what an agent's commit travels with.

const HEAD = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)$/;

/** The hunks of a unified diff; none where the text holds none. */
export function parseUnified(diff: string): Hunk[] {
  const hunks: Hunk[] = [];
  const lines = diff.split("\n");
  for (let at = 0; at < lines.length; ) {
    const head = HEAD.exec(lines[at] ?? "");
    at += 1;
    if (!head) continue;
    const hunk = readHunk(lines, at, head);
    at = hunk.next;
    hunks.push({ lines: hunk.lines, enclosing: head[5]?.trim() || undefined });
  }
  return hunks;
}

/** The counts of the head say how far it goes: a removed "-- x" looks like a header. */
function readHunk(source: readonly string[], from: number, head: RegExpExecArray) {
  const [old, now] = [number(head[1]), number(head[3])];
  const endOld = old + number(head[2], 1);
  const endNow = now + number(head[4], 1);
  const lines: Line[] = [];
  const place = { old, now };
  let at = from;
  while (at < source.length && (place.old < endOld || place.now < endNow)) {
    const line = readLine(source[at] ?? "", place);
    if (line) lines.push(line);
    at += 1;
  }
  return { lines, next: at };
}

function readLine(source: string, place: { old: number; now: number }): Line | undefined {
  const text = source.slice(1).replace(/\r$/, "");
  switch (source.charAt(0)) {
    case "-":
      return { kind: "del", text, old: place.old++, now: undefined };
    case "+":
      return { kind: "add", text, old: undefined, now: place.now++ };
    case "\\": // "\ No newline at end of file"
      return undefined;
    default: // a blank for an unchanged line; some tools drop it where the line is empty
      return { kind: "same", text, old: place.old++, now: place.now++ };
  }
}

function number(digits: string | undefined, otherwise = 0): number {
  return digits === undefined ? otherwise : Number.parseInt(digits, 10);
}

// ---- Which words of two lines differ.

export interface TextSegment {
  readonly text: string;
  readonly changed: boolean;
}

interface Edit {
  readonly added: boolean;
  readonly removed: boolean;
}

const MOST_CHARS = 4000;
const MOST_WORDS = 400;
/** Lines that share less of the shorter than this are better read whole than speckled with marks. */
const LEAST_SHARED = 0.25;

/** The pieces of both lines; undefined where marking words would not help. */
export function changedWords(
  before: string,
  after: string,
): [TextSegment[], TextSegment[]] | undefined {
  if (before.length + after.length > MOST_CHARS) return undefined;
  const changes = diffWordsWithSpace(before, after, { maxEditLength: MOST_WORDS });
  if (!changes) return undefined;
  const left: TextSegment[] = [];
  const right: TextSegment[] = [];
  changes.forEach((change, at) => {
    const bridge = !change.added && !change.removed && isBridge(change.value, changes, at);
    const changed = change.added || change.removed || bridge;
    if (!change.added) push(left, change.value, changed);
    if (!change.removed) push(right, change.value, changed);
  });
  return shared(left) >= LEAST_SHARED * Math.min(visible(before), visible(after))
    ? [left, right]
    : undefined;
}

/** A blank or a lone character between two changed words belongs to the change: marks aren't specks. */
function isBridge(text: string, changes: readonly Edit[], at: number): boolean {
  const changed = (one?: Edit) => Boolean(one?.added || one?.removed);
  return visible(text) < 2 && changed(changes[at - 1]) && changed(changes[at + 1]);
}

function push(pieces: TextSegment[], text: string, changed: boolean): void {
  const last = pieces.at(-1);
  if (last?.changed === changed) pieces[pieces.length - 1] = { text: last.text + text, changed };
  else pieces.push({ text, changed });
}

function shared(pieces: readonly TextSegment[]): number {
  return pieces.reduce((sum, one) => sum + (one.changed ? 0 : visible(one.text)), 0);
}

function visible(text: string): number {
  return text.replace(/\s+/g, "").length;
}
