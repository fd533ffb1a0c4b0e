/** Which rows a filter leaves: those that hold each of its words somewhere. */
import type { StepFile } from "../../model/commits";
import type { Row } from "../../model/model";
import type { Matches } from "../../model/row_finder";
import type { Rows } from "../../model/rows";
import { actorLabel } from "../words";
import type { FilesOfRows } from "./lines";

// Rows are replaced when they change, so that what is known of one stays true.
const texts = new WeakMap<Row, string>();

function textOf(row: Row): string {
  let text = texts.get(row);
  if (text === undefined) {
    const actors = [row.source, row.target].map(actorLabel);
    text = [row.seq, ...actors, row.name, row.summary, ...marks(row)].join(" ").toLowerCase();
    texts.set(row, text);
  }
  return text;
}

function marks({ edited, outcome, pending }: Row): string[] {
  const words = [edited && "edited", outcome === "error" && "failed", pending && "halted"];
  return words.filter((word) => word !== false);
}

/** The rows that match, by themselves or by a file they changed; all of them for an empty filter. */
export function filterRows(
  rows: readonly Row[],
  filter: string,
  files: FilesOfRows = new Map(),
): readonly Row[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return rows;
  const holds = (row: Row, word: string) =>
    textOf(row).includes(word) || (files.get(row) ?? []).some((file) => names(file, word));
  return rows.filter((row) => words.every((word) => holds(row, word)));
}

function names({ change: { path, previous_path } }: StepFile, word: string): boolean {
  return `${path} ${previous_path ?? ""}`.toLowerCase().includes(word);
}

/** What a filter leaves. */
export interface Left {
  /** By what. */
  readonly filter: string;
  /** The numbers of the rows, rising: the last ones where there are very many. */
  readonly seqs: readonly number[];
  readonly total: number;
}

/**
 * The rows that a filter leaves: of a run that is all here at once, else as far as they were found. Null:
 * all of them, because there is no filter or nothing was found yet.
 *
 * @param found What the Core has found last, maybe by an earlier text.
 */
export function leftBy(
  filter: string,
  rows: Rows,
  files: FilesOfRows,
  found: Matches | null,
): Left | null {
  if (filter === "") return null;
  const numbers = (some: readonly Row[], text: string) =>
    filterRows(some, text, files).map(({ seq }) => seq);
  if (rows.complete) {
    // What stands in whole results and answers the Core tells a moment later.
    const inside = found?.text === filter ? found.seqs : [];
    const seqs = [...new Set([...numbers(rows.all, filter), ...inside])].sort((a, b) => a - b);
    return { filter, seqs, total: seqs.length };
  }
  if (!found) return null;
  // The run has grown since: what came is looked through here, until the Core is asked again.
  const since = rows.all.filter(({ seq }) => seq > found.until);
  const more = numbers(since, found.text);
  return {
    filter: found.text,
    seqs: [...found.seqs, ...more],
    total: found.total + more.length,
  };
}
