/** The commits of a run as a person reads them: named ones, and the steps that lie beneath. Pure. */
import type { Commit } from "../protocol/types.gen";

/** A line of the list of commits. */
export interface Entry {
  readonly commit: Commit;
  /** The snapshots that it covers, oldest first. */
  readonly covers: readonly Commit[];
}

/**
 * Commits by seq, then as they came: each named one with the snapshots since the one before it, and
 * those snapshots that no named one covers yet. Oldest first.
 *
 * @param all Whether these are all that there are: what was committed before anything had changed is
 *   only the state that changes are compared with, and is left out.
 */
export function entriesOf(commits: readonly Commit[], all = false): Entry[] {
  const entries: Entry[] = [];
  let open: Commit[] = [];
  // Sorting is stable: what has the same seq stays as it came.
  for (const commit of commits.toSorted((a, b) => a.seq - b.seq)) {
    if (commit.snapshot) {
      open.push(commit);
      continue;
    }
    entries.push({ commit, covers: open });
    open = [];
  }
  const list = [...entries, ...open.map((commit) => ({ commit, covers: [] }))];
  const first = all ? list.findIndex(hasChanged) : 0;
  return first < 0 ? [] : list.slice(first);
}

const hasChanged = ({ commit, covers }: Entry): boolean =>
  commit.snapshot || commit.changes.length > 0 || covers.length > 0;

/** The snapshots that stand beneath an entry: a single one is the entry itself. */
export function stepsOf({ covers }: Entry): readonly Commit[] {
  return covers.length > 1 ? covers : [];
}

/** What a commit is called: by a model's sentence where its title was only made by rule. */
export function titleOf({ ruled, sentence, title }: Commit): string {
  return (ruled && sentence) || title;
}

/** The commit by which another is shown: a named one in place of the only snapshot that it covers. */
export function shownAs(entries: readonly Entry[], id: string): Commit | undefined {
  for (const { commit, covers } of entries) {
    if (commit.id === id) return commit;
    const step = covers.find((one) => one.id === id);
    if (step) return covers.length > 1 ? step : commit;
  }
  return undefined;
}

/** The event that a commit belongs to: its own, else that of the only snapshot it covers. */
export function eventOf({ commit, covers }: Entry): string | null {
  return commit.event ?? (covers.length === 1 ? (covers[0]?.event ?? null) : null);
}

/** One changed file, and the snapshot that knows its contents. */
export interface StepFile {
  readonly commit: string;
  readonly change: Commit["changes"][number];
}

/** What each event changed, by the event's id, as far as snapshots say so. */
export function filesOfEvents(commits: readonly Commit[]): ReadonlyMap<string, StepFile[]> {
  const files = new Map<string, StepFile[]>();
  for (const { id, event, snapshot, changes } of commits) {
    if (!snapshot || event === null || changes.length === 0) continue;
    const those = changes.map((change) => ({ commit: id, change }));
    files.set(event, [...(files.get(event) ?? []), ...those]);
  }
  return files;
}
