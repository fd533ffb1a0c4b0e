/** The lines that a timeline has: rows, changed files, and what a filter leaves of them. */
import type { StepFile } from "../../model/commits";
import { laneKey } from "../../model/lanes";
import type { SelectedFile, TimelineRow } from "../../model/model";
import { isSameFilter, type Matches, type RowFilter, type Rows } from "../../model/rows";
import { actorLabel } from "../format";

/** So many files stand under a row; more are counted. */
const MOST_FILES = 4;

/** What all lines have: a name of their own, and the number of their row. */
interface Numbered {
  readonly id: string;
  readonly seq: number;
}

export interface RowLine extends Numbered {
  readonly kind: "row";
  readonly row: TimelineRow;
  /** How many files stand under it. */
  readonly files: number;
}

/** A row that isn't here yet. */
export interface BlankLine extends Numbered {
  readonly kind: "blank";
}

export interface FileLine extends Numbered {
  readonly kind: "file";
  /** The row it stands under. */
  readonly row: TimelineRow;
  readonly file: StepFile;
}

/** Stands for the files that are too many. */
export interface MoreLine extends Numbered {
  readonly kind: "more";
  readonly row: TimelineRow;
  readonly commit: string;
  readonly count: number;
}

type Under = FileLine | MoreLine;
export type Line = RowLine | BlankLine | Under;

/** What each row changed: files stand at the last row of their event. */
export type FilesOfRows = ReadonlyMap<TimelineRow, readonly StepFile[]>;

export function filesOfRows(
  rows: readonly TimelineRow[],
  files: ReadonlyMap<string, readonly StepFile[]>,
): FilesOfRows {
  const found = new Map<TimelineRow, readonly StepFile[]>();
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

/** The lines under one row. */
interface Block {
  readonly seq: number;
  /** The index of the first. */
  readonly start: number;
  readonly lines: readonly Under[];
  /** How many lines of such kind there are until its last. */
  readonly until: number;
}

interface LinesOptions {
  rows: Rows;
  /** The numbers of the rows that a filter leaves, rising; null: all. */
  seqs?: readonly number[] | null;
  files?: FilesOfRows;
  /** Nothing is shown under these rows, by their ids. */
  folded?: ReadonlySet<string>;
  /** What these lines are filtered by. */
  filter?: RowFilter;
}

/** Leaves all rows. */
export const NO_FILTER: RowFilter = { text: "", lanes: [] };

export const isFiltered = ({ text, lanes }: RowFilter): boolean => text !== "" || lanes.length > 0;

/** A timeline's lines, made when they are looked at: there may be very many. */
export class Lines {
  readonly count: number;
  readonly filter: RowFilter;
  readonly #rows: Rows;
  readonly #seqs: readonly number[] | null;
  readonly #files: FilesOfRows;
  readonly #blocks: readonly Block[];

  constructor({ rows, seqs = null, files = new Map(), folded, filter = NO_FILTER }: LinesOptions) {
    this.filter = filter;
    this.#rows = rows;
    this.#seqs = seqs;
    this.#files = files;
    const blocks: Block[] = [];
    let until = 0;
    for (const [row, those] of [...files].sort(([a], [b]) => a.seq - b.seq)) {
      const place = this.#place(row.seq);
      if (place < 0 || folded?.has(row.id)) continue;
      const lines = [...under(row, those)];
      const start = place + 1 + until;
      until += lines.length;
      blocks.push({ seq: row.seq, start, lines, until });
    }
    this.#blocks = blocks;
    this.count = (seqs?.length ?? rows.length) + until;
  }

  /** The largest number of a row. */
  get lastSeq(): number {
    return this.#seqs ? (this.#seqs.at(-1) ?? 0) : this.#rows.length;
  }

  at(index: number): Line | undefined {
    if (index < 0 || index >= this.count) return undefined;
    const block = this.#blocks[lastWhere(this.#blocks, ({ start }) => start <= index)];
    const inside = block?.lines[index - block.start];
    if (inside) return inside;
    const place = index - (block?.until ?? 0);
    const seq = this.#seqs ? this.#seqs[place] : place + 1;
    if (seq === undefined) return undefined;
    const row = this.#rows.at(seq);
    if (!row) return { kind: "blank", id: `#${seq}`, seq };
    return { kind: "row", id: row.id, seq, row, files: this.#files.get(row)?.length ?? 0 };
  }

  /** Where the row of a number stands; -1: nowhere. */
  indexOfRow(seq: number): number {
    const place = this.#place(seq);
    if (place < 0) return -1;
    const before = this.#blocks[lastWhere(this.#blocks, (block) => block.seq < seq)];
    return place + (before?.until ?? 0);
  }

  /** Where a line of this or an earlier timeline stands: where it isn't there itself, its row. */
  indexOf({ seq, id }: Line): number {
    const row = this.indexOfRow(seq);
    const inside = this.#blockOf(seq)?.lines.findIndex((line) => line.id === id) ?? -1;
    return row < 0 ? -1 : row + inside + 1;
  }

  /** The line of what is selected: the file's where it stands in the timeline, else the row's. */
  selected(row: string | null, file: SelectedFile | null): number {
    const here = this.#rows.find(row);
    if (!here) return -1;
    const id = file ? fileLineId(here.id, file.commit, file.path) : "";
    return this.indexOf({ kind: "blank", seq: here.seq, id });
  }

  #blockOf(seq: number): Block | undefined {
    const block = this.#blocks[lastWhere(this.#blocks, (each) => each.seq <= seq)];
    return block?.seq === seq ? block : undefined;
  }

  /** How many rows stand before it; -1 where the filter leaves it out. */
  #place(seq: number): number {
    const seqs = this.#seqs;
    if (!seqs) return seq <= this.#rows.length ? seq - 1 : -1;
    const at = lastWhere(seqs, (each) => each <= seq);
    return seqs[at] === seq ? at : -1;
  }
}

/** The index of the last item that fits, where those that do come first; -1: none. */
function lastWhere<T>(items: readonly T[], fits: (item: T) => boolean): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (fits(items[middle] as T)) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function* under(row: TimelineRow, files: readonly StepFile[]): Generator<Under> {
  const { seq } = row;
  for (const file of files.slice(0, MOST_FILES)) {
    yield { kind: "file", id: fileLineId(row.id, file.commit, file.change.path), seq, row, file };
  }
  const next = files[MOST_FILES];
  if (!next) return;
  const { commit } = next;
  const count = files.length - MOST_FILES;
  yield { kind: "more", id: fileLineId(row.id, commit, null), seq, row, commit, count };
}

/** What a line under a row is known by; without a path it is the one that counts the rest. */
function fileLineId(row: string, commit: string, path: string | null): string {
  return JSON.stringify([row, commit, path]);
}

// ---- Which rows a filter leaves: those that hold each of its words somewhere.

// Rows are replaced when they change, so that what is known of one stays true.
const texts = new WeakMap<TimelineRow, string>();

function textOf(row: TimelineRow): string {
  let text = texts.get(row);
  if (text === undefined) {
    const actors = [row.source, row.target].map(actorLabel);
    const { name, node } = row.label ?? {};
    text = [row.seq, ...actors, row.name, row.summary, name, node, ...marks(row)]
      .join(" ")
      .toLowerCase();
    texts.set(row, text);
  }
  return text;
}

function marks({ edited, outcome, pending }: TimelineRow): string[] {
  const words = [edited && "edited", outcome === "error" && "failed", pending && "halted"];
  return words.filter((word) => word !== false);
}

/**
 * The rows that match, by themselves or by a file they changed; all of them for an empty filter. What waits
 * for a person is left whichever agents are chosen.
 */
export function filterRows(
  all: readonly TimelineRow[],
  { text, lanes }: RowFilter,
  files: FilesOfRows = new Map(),
): readonly TimelineRow[] {
  const rows =
    lanes.length === 0 ? all : all.filter((row) => row.pending || lanes.includes(laneKey(row)));
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return rows;
  const holds = (row: TimelineRow, word: string) =>
    textOf(row).includes(word) || (files.get(row) ?? []).some((file) => names(file, word));
  return rows.filter((row) => words.every((word) => holds(row, word)));
}

function names({ change: { path, previous_path } }: StepFile, word: string): boolean {
  return `${path} ${previous_path ?? ""}`.toLowerCase().includes(word);
}

/** What a filter leaves. */
export interface FilteredRows {
  /** By what. */
  readonly filter: RowFilter;
  /** The numbers of the rows, rising: the last ones where there are very many. */
  readonly seqs: readonly number[];
  readonly total: number;
}

/**
 * The rows that a filter leaves: of a run that is all here at once, else as far as they were found. Null:
 * all of them, because there is no filter or nothing was found yet.
 *
 * @param found What the Core has found last, maybe by an earlier filter.
 */
export function rowsLeftByFilter(
  filter: RowFilter,
  rows: Rows,
  files: FilesOfRows,
  found: Matches | null,
): FilteredRows | null {
  if (!isFiltered(filter)) return null;
  const numbers = (some: readonly TimelineRow[], by: RowFilter) =>
    filterRows(some, by, files).map(({ seq }) => seq);
  if (rows.complete) {
    // What stands in whole results and answers the Core tells a moment later.
    const inside = found && isSameFilter(found, filter) ? found.seqs : [];
    const seqs = [...new Set([...numbers(rows.all, filter), ...inside])].sort((a, b) => a - b);
    return { filter, seqs, total: seqs.length };
  }
  if (!found) return null;
  // The run has grown since: what came is looked through here, until the Core is asked again.
  const since = rows.all.filter(({ seq }) => seq > found.rowCount);
  const more = numbers(since, found);
  return {
    filter: found,
    seqs: [...found.seqs, ...more],
    total: found.total + more.length,
  };
}
