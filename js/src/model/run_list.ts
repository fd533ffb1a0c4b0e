/** The list of runs: its last ones come with hello, those before them page by page. */
import { batch, type ReadonlySignal, signal } from "@preact/signals";
import { CommandError } from "../client/client";
import type { ListRuns, Run, RunsListed } from "../protocol/types.gen";
import { foldRun } from "./rows";

/** Of all runs the last so many come with hello, and besides them those that live. */
const WITH_HELLO = 200;

export class RunList {
  /** Those that are known, oldest first. */
  readonly known: ReadonlySignal<readonly Run[]>;
  /** How many more there are, which are on their way. */
  readonly more: ReadonlySignal<number>;
  readonly #known = signal<readonly Run[]>([]);
  readonly #more = signal(0);
  readonly #ask: (wanted: ListRuns) => Promise<RunsListed>;
  #listing: object | null = null;
  /** A run that was there before hello, and may have been deleted since. */
  #unsure: string | null = null;

  constructor(ask: (wanted: ListRuns) => Promise<RunsListed>) {
    this.#ask = ask;
    this.known = this.#known;
    this.more = this.#more;
  }

  /**
   * Take hello's runs, and ask for the others.
   *
   * @param shown The one that stays, where it may be among the others.
   * @param came Called after each page of them.
   */
  hello(runs: readonly Run[], more: number, shown: Run | null, came: () => void): void {
    const older = more > 0 && shown && runs.every(({ id }) => id !== shown.id) ? [shown] : [];
    this.#unsure = older[0]?.id ?? null;
    batch(() => {
      this.#known.value = [...older, ...runs];
      this.#more.value = more;
    });
    this.#listing = null;
    if (more > 0) void this.#list(runs.slice(-WITH_HELLO), came);
  }

  /** A run's header is new or changed. */
  put(run: Run): void {
    if (run.id === this.#unsure) this.#unsure = null;
    this.#known.value = foldRun(this.#known.peek(), run);
  }

  remove(id: string): void {
    this.#known.value = this.#known.peek().filter((run) => run.id !== id);
  }

  has(id: string): boolean {
    return this.#known.peek().some((run) => run.id === id);
  }

  /** @param last Runs that stand one after the other: asked for are those before them. */
  async #list(last: readonly Run[], came: () => void): Promise<void> {
    const listing = {};
    this.#listing = listing;
    let edge = last;
    while (this.#more.peek() > 0) {
      const before = edge.find(({ id }) => this.has(id)); // the first may be deleted by now
      if (!before) break;
      const page = await this.#page(before.id);
      if (this.#listing !== listing) return; // another hello came
      if (page === "again") continue;
      if (page === null) return;
      this.#put(page, before.id);
      came();
      edge = page.runs;
    }
    batch(() => {
      if (this.#unsure !== null) this.remove(this.#unsure);
      this.#more.value = 0;
    });
    came();
  }

  /** A page; "again" where the run by which it is found is gone, null where none is to be had. */
  async #page(before: string): Promise<RunsListed | "again" | null> {
    try {
      return await this.#ask({ before });
    } catch (error) {
      if (!(error instanceof CommandError && error.code === "unknown_run")) return null;
      this.remove(before); // it was deleted; the Core's word of that is on the way
      return "again";
    }
  }

  #put({ runs, more }: RunsListed, before: string): void {
    const known = new Map(this.#known.peek().map((run) => [run.id, run]));
    // What was pushed meanwhile is newer.
    const page = runs.map((run) => known.get(run.id) ?? run);
    const mine = new Set(runs.map(({ id }) => id));
    if (this.#unsure !== null && mine.has(this.#unsure)) this.#unsure = null;
    const others = this.#known.peek().filter(({ id }) => !mine.has(id));
    const at = others.findIndex(({ id }) => id === before);
    batch(() => {
      this.#known.value = others.toSpliced(Math.max(0, at), 0, ...page);
      this.#more.value = runs.length === 0 ? 0 : more;
    });
  }
}
