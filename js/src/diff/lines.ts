/** Two texts, line by line: what was taken out, what was put in, and what surrounds it. */
import { diffLines } from "diff";

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
  readonly within?: string | undefined;
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
export function pairs(lines: readonly Line[]): Pair[] {
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
export function stacked(lines: readonly Line[]): { line: Line; beside: Line | undefined }[] {
  const beside = new Map<Line, Line | undefined>();
  for (const { left, right } of pairs(lines)) {
    if (left && left !== right) beside.set(left, right);
    if (right && left !== right) beside.set(right, left);
  }
  return lines.map((line) => ({ line, beside: beside.get(line) }));
}
