/** The commits of a run as a person reads them: named ones, and the steps that lie beneath. Pure. */

import { batch, computed, type ReadonlySignal, signal } from "@preact/signals";
import { CommandError } from "../client/core_client";
import type { Commit, CommitsPage, GetCommits } from "../protocol/types.gen";
import { foldCommit, replaceCommit } from "./rows";

/** A line of the list of commits. */
export interface CommitEntry {
  readonly commit: Commit;
  /** The snapshots that it covers, oldest first. */
  readonly snapshots: readonly Commit[];
}

/**
 * Commits by seq, then as they came: each named one with the snapshots since the one before it, and
 * those snapshots that no named one covers yet. Oldest first.
 *
 * @param all Whether these are all that there are: what was committed before anything had changed is
 *   only the state that changes are compared with, and is left out.
 */
export function groupCommits(commits: readonly Commit[], all = false): CommitEntry[] {
  const entries: CommitEntry[] = [];
  let open: Commit[] = [];
  // Sorting is stable: what has the same seq stays as it came.
  for (const commit of commits.toSorted((a, b) => a.seq - b.seq)) {
    if (commit.snapshot) {
      open.push(commit);
      continue;
    }
    entries.push({ commit, snapshots: open });
    open = [];
  }
  const list = [...entries, ...open.map((commit) => ({ commit, snapshots: [] }))];
  const first = all ? list.findIndex(hasChanged) : 0;
  return first < 0 ? [] : list.slice(first);
}

const hasChanged = ({ commit, snapshots }: CommitEntry): boolean =>
  commit.snapshot || commit.changes.length > 0 || snapshots.length > 0;

/** The snapshots that stand beneath an entry: a single one is the entry itself. */
export function snapshotsBelow({ snapshots }: CommitEntry): readonly Commit[] {
  return snapshots.length > 1 ? snapshots : [];
}

/** What a commit is called: by a model's sentence where its title was only made by rule. */
export function titleOf({ ruled, sentence, title }: Commit): string {
  return (ruled && sentence) || title;
}

/** The commit by which another is shown: a named one in place of the only snapshot that it covers. */
export function displayedCommitOf(entries: readonly CommitEntry[], id: string): Commit | undefined {
  for (const { commit, snapshots } of entries) {
    if (commit.id === id) return commit;
    const step = snapshots.find((one) => one.id === id);
    if (step) return snapshots.length > 1 ? step : commit;
  }
  return undefined;
}

/** The event that a commit belongs to: its own, else that of the only snapshot it covers. */
export function eventOf({ commit, snapshots }: CommitEntry): string | null {
  return commit.event ?? (snapshots.length === 1 ? (snapshots[0]?.event ?? null) : null);
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

// ---- The commits of the shown run: those beside the rows that are here, and from the newest on as many as
// are wanted.

/** How far back the commits are here without a gap. */
interface LoadedRange {
  /** The oldest of them; null where none is. */
  readonly from: string | null;
  /** By which the Core finds those before them; null: those before its last ones. */
  readonly before: number | null;
  /** Whether there are no others. */
  readonly all: boolean;
}

interface CommitPagesOptions {
  request(query: GetCommits): Promise<CommitsPage>;
  onError(error: CommandError): void;
}

const EVERYTHING: LoadedRange = { from: null, before: null, all: true };

export class CommitPages {
  /** All that are here, by seq. */
  readonly known = signal<readonly Commit[]>([]);
  /** Those from the newest on that are here without a gap, oldest first. */
  readonly listed: ReadonlySignal<readonly Commit[]>;
  /** Whether these are all that the run has. */
  readonly complete: ReadonlySignal<boolean>;

  readonly #options: CommitPagesOptions;
  readonly #loadedRange = signal(EVERYTHING);
  #run = "";
  #pendingPage: Promise<boolean> | null = null;

  constructor(options: CommitPagesOptions) {
    this.#options = options;
    this.complete = computed(() => this.#loadedRange.value.all);
    this.listed = computed(() => {
      const { from, all } = this.#loadedRange.value;
      const known = this.known.value;
      return all ? known : known.slice(at(known, from));
    });
  }

  /**
   * Show a run's last commits.
   *
   * @param all Whether it has no others.
   */
  show(run: string, last: readonly Commit[], all: boolean): void {
    this.#pendingPage = null;
    batch(() => {
      const known = run === this.#run ? this.known.peek() : [];
      this.known.value = all ? last : withPage(known, last);
      this.#loadedRange.value = all
        ? EVERYTHING
        : { from: last[0]?.id ?? null, before: null, all: false };
    });
    this.#run = run;
  }

  /** Take those that stand beside a page of rows. */
  addFromRows(commits: readonly Commit[]): void {
    if (commits.length > 0) this.known.value = withPage(this.known.peek(), commits);
  }

  /** Take one that was pushed: a new one, or one that was put into a sentence. */
  fold(type: "commit" | "commit_changed", commit: Commit): void {
    const fold = type === "commit" ? foldCommit : replaceCommit;
    this.known.value = fold(this.known.peek(), commit);
    const range = this.#loadedRange.peek();
    if (!range.all && range.from === null) this.#loadedRange.value = { ...range, from: commit.id };
  }

  /** Ask for a page of those before the ones that are listed. Tells whether one came. */
  loadMore(): Promise<boolean> {
    if (this.#loadedRange.peek().all) return Promise.resolve(false);
    this.#pendingPage ??= this.#loadMore().finally(() => {
      this.#pendingPage = null;
    });
    return this.#pendingPage;
  }

  async #loadMore(): Promise<boolean> {
    const run = this.#run;
    const range = this.#loadedRange.peek();
    try {
      const page = await this.#options.request({ run, before: range.before });
      if (this.#run !== run || this.#loadedRange.peek().before !== range.before) return false;
      batch(() => {
        this.known.value = withOlder(this.known.peek(), page.commits);
        const from = page.commits[0]?.id ?? this.#loadedRange.peek().from;
        this.#loadedRange.value = { from, before: page.before, all: page.before === null };
      });
      return true;
    } catch (error) {
      if (error instanceof CommandError) this.#options.onError(error);
      return false; // else the link is lost, and the run is opened anew
    }
  }
}

function at(commits: readonly Commit[], from: string | null): number {
  const found = from === null ? -1 : commits.findIndex(({ id }) => id === from);
  return found < 0 ? commits.length : found;
}

/** All commits of some rows: they know the order of those that stand at the same. */
function withPage(known: readonly Commit[], page: readonly Commit[]): readonly Commit[] {
  const mine = new Set(page.map(({ id }) => id));
  return bySeq([...known.filter(({ id }) => !mine.has(id)), ...page]);
}

/** Commits before others that are known. */
function withOlder(known: readonly Commit[], older: readonly Commit[]): readonly Commit[] {
  const here = new Set(known.map(({ id }) => id));
  return bySeq([...older.filter(({ id }) => !here.has(id)), ...known]);
}

/** Sorting is stable: what has the same seq stays as it came. */
const bySeq = (commits: readonly Commit[]) => commits.toSorted((a, b) => a.seq - b.seq);
