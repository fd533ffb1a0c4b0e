/** Which rows a filter leaves: those that hold each of its words somewhere. */
import type { StepFile } from "../../model/commits";
import type { Row } from "../../model/model";
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
