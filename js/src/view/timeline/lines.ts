/** The timeline line by line: the rows of the run, and under a tool's last row the files it changed. Pure. */
import type { StepFile } from "../../model/commits";
import type { Row, SelectedFile } from "../../model/model";

/** So many files stand under a row; more are counted. */
const MOST_FILES = 4;

export interface RowLine {
  readonly kind: "row";
  readonly id: string;
  readonly row: Row;
  /** How many files stand under it. */
  readonly files: number;
}

export interface FileLine {
  readonly kind: "file";
  readonly id: string;
  /** The row it stands under. */
  readonly row: Row;
  readonly file: StepFile;
}

/** Stands for the files that are too many. */
export interface MoreLine {
  readonly kind: "more";
  readonly id: string;
  readonly row: Row;
  readonly commit: string;
  readonly count: number;
}

export type Line = RowLine | FileLine | MoreLine;

/** What each row changed: files stand at the last row of their event. */
export type FilesOfRows = ReadonlyMap<Row, readonly StepFile[]>;

export function filesOfRows(
  rows: readonly Row[],
  files: ReadonlyMap<string, readonly StepFile[]>,
): FilesOfRows {
  const found = new Map<Row, readonly StepFile[]>();
  const open = new Map(files);
  for (let at = rows.length - 1; at >= 0 && open.size > 0; at -= 1) {
    const row = rows[at];
    const those = row && open.get(row.event);
    if (!row || !those) continue;
    found.set(row, those);
    open.delete(row.event);
  }
  return found;
}

/** Rows and what stands under them; nothing under the rows in `folded`, by their ids. */
export function linesOf(
  rows: readonly Row[],
  files: FilesOfRows,
  folded: ReadonlySet<string>,
): Line[] {
  const lines: Line[] = [];
  for (const row of rows) {
    const those = files.get(row) ?? [];
    lines.push({ kind: "row", id: row.id, row, files: those.length });
    if (those.length > 0 && !folded.has(row.id)) lines.push(...under(row, those));
  }
  return lines;
}

function* under(row: Row, files: readonly StepFile[]): Generator<Line> {
  for (const file of files.slice(0, MOST_FILES)) {
    yield { kind: "file", id: fileLineId(row.id, file.commit, file.change.path), row, file };
  }
  const next = files[MOST_FILES];
  if (!next) return;
  const { commit } = next;
  const count = files.length - MOST_FILES;
  yield { kind: "more", id: fileLineId(row.id, commit, null), row, commit, count };
}

/** What a line under a row is known by; without a path it is the one that counts the rest. */
function fileLineId(row: string, commit: string, path: string | null): string {
  return JSON.stringify([row, commit, path]);
}

/** The line of what is selected: the file's where it stands in the timeline, else the row's; -1 is none. */
export function selectedLine(
  lines: readonly Line[],
  row: string | null,
  file: SelectedFile | null,
): number {
  const id = row !== null && file && fileLineId(row, file.commit, file.path);
  // Looked for from the end: what is selected is nearly always recent.
  const at = id ? lines.findLastIndex((line) => line.id === id) : -1;
  return at >= 0 ? at : lines.findLastIndex((line) => line.id === row);
}

/** The line that a line stands under, for files. */
export function lineOfRow(lines: readonly Line[], at: number): number {
  let to = at;
  while (to > 0 && lines[to]?.kind !== "row") to -= 1;
  return to;
}
