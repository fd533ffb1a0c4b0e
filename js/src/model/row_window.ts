/** The rows of the shown run: pages are asked for as they come into sight, and let go again. */
import { type ReadonlySignal, signal } from "@preact/signals";
import { CommandError } from "../client/core_client";
import type { GetRows, RowsPage, TimelineRow } from "../protocol/types.gen";
import { PAGE_ROWS, pageOf, type Range, Rows, rangeOf } from "./rows";

/** So many pages are kept, beside those that are in use. */
const MAX_PAGES = 40;
/** So many are asked for at once: who drags the scrollbar asks for what is in sight then, not all between. */
const MAX_REQUESTS = 3;
/** Rows that a filter leaves are asked for together where they stand at most so far apart. */
const APART = 10;
/** So many pages are looked through for what stands before a row. */
const LOOK_BACK = 2;

/** What the timeline shows. */
export interface VisibleRows {
  /** The numbers of its rows. */
  readonly seqs: readonly number[];
  /** Whether they stand side by side, so that what is around them will be wanted next. */
  readonly dense: boolean;
}

interface WindowOptions {
  /** Ask the Core. `take` gets the answer in its order among the pushes. */
  request(query: GetRows, onAnswer: (page: RowsPage) => void): Promise<unknown>;
  /** A page came, and was taken. */
  onPage(page: RowsPage): void;
  /** Rows whose pages aren't let go. */
  retainedRows(): Iterable<TimelineRow>;
  onError(error: CommandError): void;
}

interface PageRequest {
  /** The rows it is for; null where it is for those around a certain one. */
  readonly range: Range | null;
  /** Whether nobody is told that it can't be had. */
  readonly isSilent: boolean;
  /** The numbers of rows that were pushed since: the Core may have read the page before. */
  readonly pushed: Set<number>;
  done: Promise<void>;
}

const NO_ROWS: VisibleRows = { seqs: [], dense: true };

export class RowWindow {
  /** What is here, of how many. */
  readonly rows: ReadonlySignal<Rows>;
  readonly #rows = signal(Rows.NONE);
  readonly #options: WindowOptions;
  #run = "";
  #visible = NO_ROWS;
  readonly #requests = new Set<PageRequest>();
  readonly #fetchesById = new Map<string, Promise<void>>();
  /** Rows that were needed and not here, by their ids: none is asked for twice. */
  readonly #requiredIds = new Set<string>();
  /** Pages that may have changed unseen, while there was no link. */
  #stale = new Set<number>();
  /** What was asked for and didn't come: not again, until something has changed. */
  #unavailable: Range[] = [];
  /** Pages, those first that weren't in sight for longest. */
  readonly #used = new Set<number>();

  constructor(options: WindowOptions) {
    this.#options = options;
    this.rows = this.#rows;
  }

  /** Show a run's last rows, of as many as it has. Of the run that is shown, what else is here stays. */
  show(run: string, last: readonly TimelineRow[], length: number): void {
    const known = run === this.#run ? this.#rows.peek() : Rows.NONE;
    this.#requests.clear();
    this.#fetchesById.clear();
    this.#requiredIds.clear();
    this.#unavailable = [];
    this.#run = run;
    if (known === Rows.NONE) {
      this.#visible = NO_ROWS;
      this.#used.clear();
    }
    const first = last[0]?.seq ?? Number.POSITIVE_INFINITY;
    const retained = known.truncate(Math.max(length, last.at(-1)?.seq ?? 0));
    this.#stale = new Set(retained.pages.filter((page) => rangeOf(page).first < first));
    this.#store(retained.merge(last));
    this.#requestMissing();
  }

  /** Rows were pushed, and the run's header says how many there are. */
  applyRows(pushed: readonly TimelineRow[], length: number): void {
    for (const { seq } of pushed) for (const request of this.#requests) request.pushed.add(seq);
    const before = this.#rows.peek();
    const next = before.merge(pushed, length);
    if (next === before) return;
    if (next.length > before.length) this.#unavailable = [];
    this.#store(next);
    this.#requestMissing();
  }

  /** Ask for what is in sight and isn't here. */
  setVisible(visible: VisibleRows): void {
    this.#visible = visible;
    for (const seq of visible.seqs) this.#markUsed(pageOf(seq));
    this.#requestMissing();
  }

  /** See to it that a row is here. Where it can't be had yet, it will be pushed. */
  require(id: string): void {
    if (this.#requiredIds.has(id) || this.#rows.peek().find(id)) return;
    this.#requiredIds.add(id);
    void this.#fetchAround(id, true);
  }

  /** A row by its id; null where the run has none, or it can't be had now. */
  async fetchById(id: string): Promise<TimelineRow | null> {
    const here = () => this.#rows.peek().find(id);
    if (here()) return here();
    const run = this.#run;
    await this.#fetchAround(id, false);
    return this.#run === run ? here() : null;
  }

  /**
   * The rows that stand before one without a gap, as far as they are here.
   *
   * @param enough Whether these do; else some further back are asked for.
   */
  async before(
    { seq }: TimelineRow,
    enough: (rows: readonly TimelineRow[]) => boolean,
  ): Promise<readonly TimelineRow[]> {
    const run = this.#run;
    for (let tries = 0; ; tries += 1) {
      const found = this.#contiguousBefore(seq);
      const first = found[0]?.seq ?? seq;
      if (first <= 1 || tries === LOOK_BACK || this.#run !== run || enough(found)) return found;
      await this.#fetchRange({ first: Math.max(1, first - PAGE_ROWS), last: first - 1 });
    }
  }

  /** The row of a number, and what is around it. */
  async fetchAt(seq: number): Promise<TimelineRow | null> {
    const run = this.#run;
    const { first, last } = rangeOf(pageOf(seq));
    if (!this.#rows.peek().at(seq)) await this.#fetchRange({ first, last });
    return this.#run === run ? this.#rows.peek().at(seq) : null;
  }

  #contiguousBefore(before: number): TimelineRow[] {
    const rows = this.#rows.peek();
    const found: TimelineRow[] = [];
    for (let row = rows.at(before - 1); row; row = rows.at(row.seq - 1)) found.push(row);
    return found.reverse();
  }

  // ---- asking --------------------------------------------------------------------------------------

  /** Ask for what is in sight, as far as it isn't on its way. */
  #requestMissing(): void {
    for (const range of this.#missingRanges()) {
      if (this.#requests.size >= MAX_REQUESTS) return;
      void this.#fetchRange(range);
    }
  }

  #missingRanges(): Range[] {
    const rows = this.#rows.peek();
    const { seqs, dense } = this.#visible;
    const pages = [...new Set(seqs.map(pageOf))];
    const old = pages.filter((page) => this.#stale.has(page)).map((page) => clip(page, rows));
    const missing = rows.missing(seqs, dense ? 1 : APART);
    const query = dense ? pages.filter((page) => missing.some(within(page))).map(around) : missing;
    function around(page: number): Range {
      const { first, last } = clip(page, rows);
      const gaps = rows.missing(numbers({ first, last }));
      return { first: gaps[0]?.first ?? first, last: gaps.at(-1)?.last ?? last };
    }
    const told = [...[...this.#requests].map(({ range }) => range), ...this.#unavailable];
    return [...old, ...query].filter((range) => !told.some((one) => one && overlap(one, range)));
  }

  #fetchRange(range: Range): Promise<void> {
    const covers = ({ range: r }: PageRequest) =>
      r && r.first <= range.first && r.last >= range.last;
    const underway = [...this.#requests].find(covers);
    if (underway) return underway.done;
    // A file's commit may stand at the row before the one that it is shown under.
    const first = Math.max(1, range.first - 1);
    return this.#fetch({ run: this.#run, first, last: range.last }, range);
  }

  /** Ask for the rows around one. */
  #fetchAround(id: string, isSilent: boolean): Promise<void> {
    const underway = this.#fetchesById.get(id);
    if (underway) return underway;
    const query = { run: this.#run, around: id, first: 1, last: PAGE_ROWS };
    const fetch = this.#fetch(query, null, isSilent);
    this.#fetchesById.set(id, fetch);
    const forget = () => this.#fetchesById.get(id) === fetch && this.#fetchesById.delete(id);
    void fetch.then(forget);
    return fetch;
  }

  #fetch(query: GetRows, range: Range | null, isSilent = false): Promise<void> {
    const request: PageRequest = { range, isSilent, pushed: new Set(), done: Promise.resolve() };
    this.#requests.add(request);
    request.done = this.#sendRequest(request, query);
    return request.done;
  }

  async #sendRequest(request: PageRequest, query: GetRows): Promise<void> {
    try {
      await this.#options.request(query, (page) => {
        if (this.#requests.has(request)) this.#applyPage(request, page);
      });
    } catch (error) {
      if (!this.#requests.has(request)) return; // of a run that isn't shown any more, or asked for anew
      if (request.range) this.#unavailable.push(request.range);
      if (error instanceof CommandError && !request.isSilent) this.#options.onError(error);
    } finally {
      if (this.#requests.delete(request)) this.#requestMissing();
    }
  }

  #applyPage({ range, pushed }: PageRequest, page: RowsPage): void {
    const before = this.#rows.peek();
    const old = range ? [...this.#stale].filter((one) => covered(one, range, before)) : [];
    for (const one of old) this.#stale.delete(one);
    const since = before.all.filter(({ seq }) => pushed.has(seq));
    const told = page.rows.filter(({ seq }) => !pushed.has(seq));
    for (const { seq } of told) this.#markUsed(pageOf(seq));
    const next = before.withoutPages(old).merge(since).merge(told);
    const hasNewRows = old.length > 0 || told.some(({ seq }) => !before.at(seq));
    if (range && !hasNewRows && next.missing(numbers(range)).length > 0)
      this.#unavailable.push(range);
    this.#store(next);
    this.#options.onPage(page);
  }

  // ---- keeping -------------------------------------------------------------------------------------

  #store(rows: Rows): void {
    for (const page of rows.pages) if (!this.#used.has(page)) this.#markUsed(page);
    const excess = rows.pages.length - MAX_PAGES;
    this.#rows.value = excess > 0 ? rows.withoutPages(this.#leastRecentlyUsed(rows, excess)) : rows;
  }

  #leastRecentlyUsed(rows: Rows, most: number): number[] {
    const retainedRows = [...this.#options.retainedRows()].map(({ seq }) => seq);
    const retained = new Set([rows.length, ...retainedRows, ...this.#visible.seqs].map(pageOf));
    retained.add(pageOf(rows.length) - 1); // the end may have a new page of a few rows
    const here = new Set(rows.pages);
    const gone = [...this.#used]
      .filter((page) => here.has(page) && !retained.has(page))
      .slice(0, most);
    for (const page of gone) {
      this.#used.delete(page);
      this.#stale.delete(page);
    }
    return gone;
  }

  #markUsed(page: number): void {
    this.#used.delete(page); // to the end: a Set's order is that of insertion
    this.#used.add(page);
  }
}

const numbers = ({ first, last }: Range): number[] =>
  Array.from({ length: last - first + 1 }, (_, at) => first + at);

const clip = (page: number, { length }: Rows): Range => {
  const { first, last } = rangeOf(page);
  return { first, last: Math.min(last, length) };
};

const covered = (page: number, { first, last }: Range, rows: Rows): boolean => {
  const whole = clip(page, rows);
  return first <= whole.first && last >= whole.last;
};

const overlap = (one: Range, other: Range): boolean =>
  one.first <= other.last && other.first <= one.last;

const within =
  (page: number) =>
  ({ first, last }: Range): boolean =>
    pageOf(first) <= page && page <= pageOf(last);
