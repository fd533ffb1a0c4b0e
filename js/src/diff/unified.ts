/** A git diff as text to hunks: what an agent's commit travels with. */
import type { Hunk, Line } from "./lines";

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
    hunks.push({ lines: hunk.lines, within: head[5]?.trim() || undefined });
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
