/** Which rows a filter leaves: those that hold each of its words somewhere. */
import type { Row } from "../../model/model";
import { actorLabel } from "../words";

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

/** The rows that match; all of them for an empty filter. */
export function filterRows(rows: readonly Row[], filter: string): readonly Row[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return rows;
  return rows.filter((row) => words.every((word) => textOf(row).includes(word)));
}
