/** Which row is selected when rows arrive: never one that takes a person away from what they do. */
import type { Row } from "../protocol/types.gen";
import { rowOf } from "./fold";

export interface Selection {
  row: string | null;
  /** Whether the person moved it away from the end themselves. */
  picked: boolean;
}

interface Situation {
  rows: readonly Row[];
  /** Rows that wait, oldest first. */
  pending: readonly Row[];
  selection: Selection;
  follow: boolean;
  /** Whether the selected row has an unsent edit, or a note is being written beside it. */
  drafted: boolean;
}

/** The selection after rows have changed. */
export function reselect({ rows, pending, selection, follow, drafted }: Situation): Selection {
  const current = rowOf(rows, selection.row);
  const halted = pending[0];
  if (!current) return { row: (halted ?? rows.at(-1))?.id ?? null, picked: false };
  if (!halted || current.pending || drafted) return selection;
  if (selection.picked && !follow) return selection;
  return { row: halted.id, picked: false };
}
