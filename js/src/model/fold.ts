/** How pushes change what is known. Pure: new arrays out, so that a signal sees a change. */
import type { Commit, Note, Row, Run } from "../protocol/types.gen";

/** Put new and changed rows among the others, by seq. */
export function foldRows(rows: readonly Row[], changed: readonly Row[]): readonly Row[] {
  if (changed.length === 0) return rows;
  const next = rows.slice();
  for (const row of changed) {
    const at = place(next, row.seq);
    next.splice(at, next[at]?.seq === row.seq ? 1 : 0, row);
  }
  return next;
}

/** The index of the first row whose seq isn't smaller. */
function place(rows: readonly Row[], seq: number): number {
  let low = 0;
  let high = rows.length;
  // Nearly every row is the newest, or stands just before it.
  const last = rows[high - 1];
  if (last && last.seq < seq) return high;
  while (low < high) {
    const middle = (low + high) >> 1;
    const row = rows[middle];
    if (row && row.seq < seq) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The row of an id, looked for from the end: what is asked for is nearly always recent. */
export function rowOf(rows: readonly Row[], id: string | null): Row | null {
  if (id === null) return null;
  return rows.findLast((row) => row.id === id) ?? null;
}

/** A run's header replaces the one before, or comes last. */
export function foldRun(runs: readonly Run[], run: Run): readonly Run[] {
  const at = runs.findIndex(({ id }) => id === run.id);
  return at < 0 ? [...runs, run] : runs.with(at, run);
}

/** A commit is new, unless a snapshot had it. */
export function foldCommit(commits: readonly Commit[], commit: Commit): readonly Commit[] {
  return commits.some(({ id }) => id === commit.id) ? commits : [...commits, commit];
}

/** A commit that was put into a sentence replaces the one before. */
export function replaceCommit(commits: readonly Commit[], commit: Commit): readonly Commit[] {
  const at = commits.findIndex(({ id }) => id === commit.id);
  return at < 0 ? commits : commits.with(at, commit);
}

/** A note replaces the one beside the same row; without text it takes it away. */
export function foldNote(notes: ReadonlyMap<string, Note>, note: Note): ReadonlyMap<string, Note> {
  const next = new Map(notes);
  if (note.text === "") next.delete(note.message);
  else next.set(note.message, note);
  return next;
}
