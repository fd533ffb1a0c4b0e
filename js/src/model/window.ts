/** The rows of the shown run: pages are asked for as they come into sight, and let go again. */
import { type ReadonlySignal, signal } from "@preact/signals";
import { CommandError } from "../client/client";
import type { GetRows, RowsPage, TimelineRow } from "../protocol/types.gen";
import { PAGE, pageOf, type Range, Rows, rangeOf } from "./rows";

/** So many pages are kept, beside those that are in use. */
const MOST_PAGES = 40;
/** So many are asked for at once: who drags the scrollbar asks for what is in sight then, not all between. */
const MOST_ASKS = 3;
/** Rows that a filter leaves are asked for together where they stand at most so far apart. */
const APART = 10;
/** So many pages are looked through for what stands before a row. */
const LOOK_BACK = 2;

/** What the timeline shows. */
export interface Sight {
  /** The numbers of its rows. */
  readonly seqs: readonly number[];
  /** Whether they stand side by side, so that what is around them will be wanted next. */
  readonly dense: boolean;
}

interface Options {
  /** Ask the Core. `take` gets the answer in its order among the pushes. */
  ask(wanted: GetRows, take: (page: RowsPage) => void): Promise<unknown>;
  /** A page came, and was taken. */
  took(page: RowsPage): void;
  /** Rows whose pages aren't let go. */
  held(): Iterable<TimelineRow>;
  trouble(error: CommandError): void;
}

interface Ask {
  /** The rows it is for; null where it is for those around a certain one. */
  readonly range: Range | null;
  /** Whether nobody is told that it can't be had. */
  readonly quiet: boolean;
  /** The numbers of rows that were pushed since: the Core may have read the page before. */
  readonly pushed: Set<number>;
  done: Promise<void>;
}

const NOWHERE: Sight = { seqs: [], dense: true };

export class Window {
  /** What is here, of how many. */
  readonly rows: ReadonlySignal<Rows>;
  readonly #rows = signal(Rows.NONE);
  readonly #options: Options;
  #run = "";
  #sight = NOWHERE;
  readonly #asks = new Set<Ask>();
  readonly #brings = new Map<string, Promise<void>>();
  /** Rows that were needed and not here, by their ids: none is asked for twice. */
  readonly #needed = new Set<string>();
  /** Pages that may have changed unseen, while there was no link. */
  #stale = new Set<number>();
  /** What was asked for and didn't come: not again, until something has changed. */
  #barren: Range[] = [];
  /** Pages, those first that weren't in sight for longest. */
  readonly #used = new Set<number>();

  constructor(options: Options) {
    this.#options = options;
    this.rows = this.#rows;
  }

  /** Show a run's last rows, of as many as it has. Of the run that is shown, what else is here stays. */
  show(run: string, last: readonly TimelineRow[], length: number): void {
    const known = run === this.#run ? this.#rows.peek() : Rows.NONE;
    this.#asks.clear();
    this.#brings.clear();
    this.#needed.clear();
    this.#barren = [];
    this.#run = run;
    if (known === Rows.NONE) {
      this.#sight = NOWHERE;
      this.#used.clear();
    }
    const first = last[0]?.seq ?? Number.POSITIVE_INFINITY;
    const kept = known.cut(Math.max(length, last.at(-1)?.seq ?? 0));
    this.#stale = new Set(kept.pages.filter((page) => rangeOf(page).first < first));
    this.#put(kept.with(last));
    this.#ask();
  }

  /** Rows were pushed, and the run's header says how many there are. */
  fold(pushed: readonly TimelineRow[], length: number): void {
    for (const { seq } of pushed) for (const ask of this.#asks) ask.pushed.add(seq);
    const before = this.#rows.peek();
    const next = before.with(pushed, length);
    if (next === before) return;
    if (next.length > before.length) this.#barren = [];
    this.#put(next);
    this.#ask();
  }

  /** Ask for what is in sight and isn't here. */
  see(sight: Sight): void {
    this.#sight = sight;
    for (const seq of sight.seqs) this.#use(pageOf(seq));
    this.#ask();
  }

  /** See to it that a row is here. Where it can't be had yet, it will be pushed. */
  need(id: string): void {
    if (this.#needed.has(id) || this.#rows.peek().find(id)) return;
    this.#needed.add(id);
    void this.#around(id, true);
  }

  /** A row by its id; null where the run has none, or it can't be had now. */
  async bring(id: string): Promise<TimelineRow | null> {
    const here = () => this.#rows.peek().find(id);
    if (here()) return here();
    const run = this.#run;
    await this.#around(id, false);
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
      const found = this.#stretch(seq);
      const first = found[0]?.seq ?? seq;
      if (first <= 1 || tries === LOOK_BACK || this.#run !== run || enough(found)) return found;
      await this.#reach({ first: Math.max(1, first - PAGE), last: first - 1 });
    }
  }

  /** The row of a number, and what is around it. */
  async reach(seq: number): Promise<TimelineRow | null> {
    const run = this.#run;
    const { first, last } = rangeOf(pageOf(seq));
    if (!this.#rows.peek().at(seq)) await this.#reach({ first, last });
    return this.#run === run ? this.#rows.peek().at(seq) : null;
  }

  #stretch(before: number): TimelineRow[] {
    const rows = this.#rows.peek();
    const found: TimelineRow[] = [];
    for (let row = rows.at(before - 1); row; row = rows.at(row.seq - 1)) found.push(row);
    return found.reverse();
  }

  // ---- asking --------------------------------------------------------------------------------------

  /** Ask for what is in sight, as far as it isn't on its way. */
  #ask(): void {
    for (const range of this.#wanted()) {
      if (this.#asks.size >= MOST_ASKS) return;
      void this.#reach(range);
    }
  }

  #wanted(): Range[] {
    const rows = this.#rows.peek();
    const { seqs, dense } = this.#sight;
    const pages = [...new Set(seqs.map(pageOf))];
    const old = pages.filter((page) => this.#stale.has(page)).map((page) => clip(page, rows));
    const missing = rows.missing(seqs, dense ? 1 : APART);
    const wanted = dense ? pages.filter((page) => missing.some(within(page))).map(around) : missing;
    function around(page: number): Range {
      const { first, last } = clip(page, rows);
      const gaps = rows.missing(numbers({ first, last }));
      return { first: gaps[0]?.first ?? first, last: gaps.at(-1)?.last ?? last };
    }
    const told = [...[...this.#asks].map(({ range }) => range), ...this.#barren];
    return [...old, ...wanted].filter((range) => !told.some((one) => one && overlap(one, range)));
  }

  #reach(range: Range): Promise<void> {
    const covers = ({ range: r }: Ask) => r && r.first <= range.first && r.last >= range.last;
    const underway = [...this.#asks].find(covers);
    if (underway) return underway.done;
    // A file's commit may stand at the row before the one that it is shown under.
    const first = Math.max(1, range.first - 1);
    return this.#fetch({ run: this.#run, first, last: range.last }, range);
  }

  /** Ask for the rows around one. */
  #around(id: string, quiet: boolean): Promise<void> {
    const underway = this.#brings.get(id);
    if (underway) return underway;
    const wanted = { run: this.#run, around: id, first: 1, last: PAGE };
    const fetch = this.#fetch(wanted, null, quiet);
    this.#brings.set(id, fetch);
    const over = () => this.#brings.get(id) === fetch && this.#brings.delete(id);
    void fetch.then(over);
    return fetch;
  }

  #fetch(wanted: GetRows, range: Range | null, quiet = false): Promise<void> {
    const ask: Ask = { range, quiet, pushed: new Set(), done: Promise.resolve() };
    this.#asks.add(ask);
    ask.done = this.#answer(ask, wanted);
    return ask.done;
  }

  async #answer(ask: Ask, wanted: GetRows): Promise<void> {
    try {
      await this.#options.ask(wanted, (page) => {
        if (this.#asks.has(ask)) this.#take(ask, page);
      });
    } catch (error) {
      if (!this.#asks.has(ask)) return; // of a run that isn't shown any more, or asked for anew
      if (ask.range) this.#barren.push(ask.range);
      if (error instanceof CommandError && !ask.quiet) this.#options.trouble(error);
    } finally {
      if (this.#asks.delete(ask)) this.#ask();
    }
  }

  #take({ range, pushed }: Ask, page: RowsPage): void {
    const before = this.#rows.peek();
    const old = range ? [...this.#stale].filter((one) => covered(one, range, before)) : [];
    for (const one of old) this.#stale.delete(one);
    const since = before.all.filter(({ seq }) => pushed.has(seq));
    const told = page.rows.filter(({ seq }) => !pushed.has(seq));
    for (const { seq } of told) this.#use(pageOf(seq));
    const next = before.without(old).with(since).with(told);
    const came = old.length > 0 || told.some(({ seq }) => !before.at(seq));
    if (range && !came && next.missing(numbers(range)).length > 0) this.#barren.push(range);
    this.#put(next);
    this.#options.took(page);
  }

  // ---- keeping -------------------------------------------------------------------------------------

  #put(rows: Rows): void {
    for (const page of rows.pages) if (!this.#used.has(page)) this.#use(page);
    const over = rows.pages.length - MOST_PAGES;
    this.#rows.value = over > 0 ? rows.without(this.#unused(rows, over)) : rows;
  }

  #unused(rows: Rows, most: number): number[] {
    const held = [...this.#options.held()].map(({ seq }) => seq);
    const kept = new Set([rows.length, ...held, ...this.#sight.seqs].map(pageOf));
    kept.add(pageOf(rows.length) - 1); // the end may have a new page of a few rows
    const here = new Set(rows.pages);
    const gone = [...this.#used].filter((page) => here.has(page) && !kept.has(page)).slice(0, most);
    for (const page of gone) {
      this.#used.delete(page);
      this.#stale.delete(page);
    }
    return gone;
  }

  #use(page: number): void {
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
