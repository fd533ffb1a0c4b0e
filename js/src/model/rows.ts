/** The rows of a run, as pages bring them, and finding those that fit a filter. */
import { type ReadonlySignal, signal } from "@preact/signals";
import { CommandError } from "../client/core_client";
import type { Timers } from "../client/transport";
import type {
  Commit,
  FindRows,
  Lane as FoundLane,
  RowNote,
  RowsFound,
  Run,
  TimelineRow,
} from "../protocol/types.gen";
import { lanePath } from "./lanes";

/** So many rows are asked for, and let go, at once. */
export const PAGE_ROWS = 100;

/** Rows by their place in the page. */
type Page = readonly (TimelineRow | undefined)[];

/** Numbers of rows, both included. */
export interface Range {
  readonly first: number;
  readonly last: number;
}

export const pageOf = (seq: number): number => Math.floor((seq - 1) / PAGE_ROWS);

/** The numbers that a page of a run has. */
export const rangeOf = (page: number): Range => ({
  first: page * PAGE_ROWS + 1,
  last: (page + 1) * PAGE_ROWS,
});

export class Rows {
  static readonly NONE = new Rows(0, new Map());

  /** How many rows the run has. */
  readonly length: number;
  readonly #pages: ReadonlyMap<number, Page>;
  #all: readonly TimelineRow[] | undefined;

  private constructor(length: number, pages: ReadonlyMap<number, Page>) {
    this.length = length;
    this.#pages = pages;
  }

  /** The row of a number; null where it isn't here. */
  at(seq: number): TimelineRow | null {
    return this.#pages.get(pageOf(seq))?.[(seq - 1) % PAGE_ROWS] ?? null;
  }

  /** The row of an id, looked for from the end: what is asked for is nearly always recent. */
  find(id: string | null): TimelineRow | null {
    if (id === null) return null;
    return this.all.findLast((row) => row.id === id) ?? null;
  }

  /** Those that are here, by seq. */
  get all(): readonly TimelineRow[] {
    this.#all ??= [...this.#pages.keys()]
      .sort((a, b) => a - b)
      .flatMap((page) => this.#pages.get(page)?.filter((row) => row !== undefined) ?? []);
    return this.#all;
  }

  /** Whether all are here. */
  get complete(): boolean {
    return this.all.length === this.length;
  }

  /** The pages of which something is here. */
  get pages(): readonly number[] {
    return [...this.#pages.keys()];
  }

  /**
   * Put new and changed rows among the others.
   *
   * @param length How many the run is said to have; it has at least those that are here.
   */
  merge(changed: readonly TimelineRow[], length = this.length): Rows {
    const most = changed.reduce(
      (most, { seq }) => Math.max(most, seq),
      Math.max(length, this.length),
    );
    if (changed.length === 0 && most === this.length) return this;
    const pages = new Map(this.#pages);
    const mine = new Map<number, (TimelineRow | undefined)[]>();
    for (const row of changed) {
      const number = pageOf(row.seq);
      let page = mine.get(number);
      if (!page) {
        page =
          pages.get(number)?.slice() ??
          new Array<TimelineRow | undefined>(PAGE_ROWS).fill(undefined);
        mine.set(number, page);
        pages.set(number, page);
      }
      page[(row.seq - 1) % PAGE_ROWS] = row;
    }
    return new Rows(most, pages);
  }

  /** Without these pages. */
  withoutPages(gone: Iterable<number>): Rows {
    const pages = new Map(this.#pages);
    for (const page of gone) pages.delete(page);
    return new Rows(this.length, pages);
  }

  /** As far as a number of rows: a run is no longer than its Core says, though more was shown of it. */
  truncate(length: number): Rows {
    const kept = this.all.filter(({ seq }) => seq <= length);
    return new Rows(length, new Map()).merge(kept);
  }

  /** Those of some numbers that aren't here, in ranges; what stands at most `apart` is one range. */
  missing(seqs: readonly number[], apart = 1): Range[] {
    const ranges: { first: number; last: number }[] = [];
    for (const seq of seqs.toSorted((a, b) => a - b)) {
      if (seq < 1 || seq > this.length || this.at(seq)) continue;
      const before = ranges.at(-1);
      if (before && seq - before.last <= apart) before.last = seq;
      else ranges.push({ first: seq, last: seq });
    }
    return ranges;
  }
}

// ---- Which rows a filter leaves in a run that isn't all here: the Core looks, once the person pauses.

const TYPING_PAUSE_MS = 200;
/** A run that grows or changes is looked through again after so long. */
const REFRESH_MS = 1000;

/** What a timeline is filtered by. */
export interface RowFilter {
  readonly text: string;
  /** The keys of the lanes whose rows are shown; none: all. Rows that wait are shown of each. */
  readonly lanes: readonly string[];
}

export const isSameFilter = (one: RowFilter, other: RowFilter): boolean =>
  one.text === other.text && one.lanes.join() === other.lanes.join();

/** What was found. */
export interface Matches extends RowFilter {
  readonly run: string;
  /** The numbers of rows, rising; the last ones where there are very many. */
  readonly seqs: readonly number[];
  readonly total: number;
  /** How many rows the run had. */
  readonly rowCount: number;
  /** Where all lanes of the run begin. */
  readonly laneStarts: readonly FoundLane[];
}

interface RowQuery extends RowFilter {
  readonly run: string;
  /** How many rows the run has. */
  readonly length: number;
}

interface RowFinderOptions {
  request(query: FindRows): Promise<RowsFound>;
  timers: Timers;
  onError(error: CommandError): void;
}

export class RowFinder {
  /** What was found last; stays until the next is. */
  readonly found: ReadonlySignal<Matches | null>;
  readonly #found = signal<Matches | null>(null);
  readonly #options: RowFinderOptions;
  #query: RowQuery | null = null;
  /** What is being looked for; another question would end it. */
  #activeQuery: RowQuery | null = null;
  #changed = false;
  #cancel: (() => void) | null = null;

  constructor(options: RowFinderOptions) {
    this.#options = options;
    this.found = this.#found;
  }

  /** Look for rows; null: no longer. What was looked for before and isn't found yet is let go. */
  find(query: RowQuery | null): void {
    const before = this.#query;
    if (query && before && isSameQuery(query, before) && query.length === before.length) return;
    this.#query = query;
    if (query === null || query.run !== before?.run) this.#found.value = null;
    if (query !== null && before !== null && isSameQuery(query, before)) {
      this.#scheduleAgain();
      return;
    }
    this.#cancel?.();
    this.#cancel = null;
    if (query) this.#schedule(TYPING_PAUSE_MS);
  }

  /** Rows have changed, so that what was found may not be true any more. */
  changed(): void {
    if (!this.#query) return;
    this.#changed = true;
    this.#scheduleAgain();
  }

  /** The run has grown, or changed. What is waited for isn't put off by that, else it would never come. */
  #scheduleAgain(): void {
    if (this.#cancel || this.#activeQuery) return;
    this.#schedule(REFRESH_MS);
  }

  #schedule(ms: number): void {
    this.#cancel = this.#options.timers.after(ms, () => {
      this.#cancel = null;
      void this.#search();
    });
  }

  async #search(): Promise<void> {
    const query = this.#query;
    if (!query) return;
    const { run, text, lanes, length } = query;
    this.#activeQuery = query;
    this.#changed = false;
    try {
      const which = lanes.length > 0 ? { lanes: lanes.map(lanePath) } : {};
      const answer = await this.#options.request({ run, text, ...which });
      const { seqs, total, lanes: laneStarts = [] } = answer;
      const now = this.#query;
      if (now && isSameQuery(now, query))
        this.#found.value = { run, text, lanes, seqs, total, rowCount: length, laneStarts };
    } catch (error) {
      // A lost link says so itself; what was found stays.
      const isCurrentError = error instanceof CommandError && this.#activeQuery === query;
      if (isCurrentError && this.#query) this.#options.onError(error);
    } finally {
      if (this.#activeQuery === query) {
        this.#activeQuery = null;
        if (this.#query && (this.#changed || this.#query.length > length)) this.#scheduleAgain();
      }
    }
  }
}

const isSameQuery = (one: RowQuery, other: RowQuery): boolean =>
  one.run === other.run && isSameFilter(one, other);

// ---- How pushes change what is known. Pure: new arrays out, so that a signal sees a change.

/** The row of an id, looked for from the end: what is asked for is nearly always recent. */
export function rowOf(rows: readonly TimelineRow[], id: string | null): TimelineRow | null {
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
export function foldNote(
  notes: ReadonlyMap<string, RowNote>,
  note: RowNote,
): ReadonlyMap<string, RowNote> {
  const next = new Map(notes);
  if (note.text === "") next.delete(note.message);
  else next.set(note.message, note);
  return next;
}
