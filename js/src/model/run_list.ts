/** The list of runs: its last ones come with hello, those before them page by page. */
import { batch, type ReadonlySignal, signal } from "@preact/signals";
import { CommandError } from "../client/core_client";
import type { ListRuns, Run, RunsListed } from "../protocol/types.gen";
import { foldRun } from "./rows";

/** Of all runs the last so many come with hello, and besides them those that live. */
const RUNS_IN_HELLO = 200;

export class RunList {
  /** Those that are known, oldest first. */
  readonly known: ReadonlySignal<readonly Run[]>;
  /** How many more there are, which are on their way. */
  readonly more: ReadonlySignal<number>;
  readonly #known = signal<readonly Run[]>([]);
  readonly #more = signal(0);
  readonly #request: (query: ListRuns) => Promise<RunsListed>;
  #listing: object | null = null;
  /** A run that was there before hello, and may have been deleted since. */
  #unconfirmed: string | null = null;

  constructor(request: (query: ListRuns) => Promise<RunsListed>) {
    this.#request = request;
    this.known = this.#known;
    this.more = this.#more;
  }

  /**
   * Take hello's runs, and ask for the others.
   *
   * @param shown The one that stays, where it may be among the others.
   * @param onPage Called after each page of them.
   */
  replaceAll(runs: readonly Run[], more: number, shown: Run | null, onPage: () => void): void {
    const older = more > 0 && shown && runs.every(({ id }) => id !== shown.id) ? [shown] : [];
    this.#unconfirmed = older[0]?.id ?? null;
    batch(() => {
      this.#known.value = [...older, ...runs];
      this.#more.value = more;
    });
    this.#listing = null;
    if (more > 0) void this.#list(runs.slice(-RUNS_IN_HELLO), onPage);
  }

  /** A run's header is new or changed. */
  update(run: Run): void {
    if (run.id === this.#unconfirmed) this.#unconfirmed = null;
    this.#known.value = foldRun(this.#known.peek(), run);
  }

  remove(id: string): void {
    this.#known.value = this.#known.peek().filter((run) => run.id !== id);
  }

  has(id: string): boolean {
    return this.#known.peek().some((run) => run.id === id);
  }

  /** @param last Runs that stand one after the other: asked for are those before them. */
  async #list(last: readonly Run[], onPage: () => void): Promise<void> {
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
      this.#addPage(page, before.id);
      onPage();
      edge = page.runs;
    }
    batch(() => {
      if (this.#unconfirmed !== null) this.remove(this.#unconfirmed);
      this.#more.value = 0;
    });
    onPage();
  }

  /** A page; "again" where the run by which it is found is gone, null where none is to be had. */
  async #page(before: string): Promise<RunsListed | "again" | null> {
    try {
      return await this.#request({ before });
    } catch (error) {
      if (!(error instanceof CommandError && error.code === "unknown_run")) return null;
      this.remove(before); // it was deleted; the Core's word of that is on the way
      return "again";
    }
  }

  #addPage({ runs, more }: RunsListed, before: string): void {
    const known = new Map(this.#known.peek().map((run) => [run.id, run]));
    // What was pushed meanwhile is newer.
    const page = runs.map((run) => known.get(run.id) ?? run);
    const mine = new Set(runs.map(({ id }) => id));
    if (this.#unconfirmed !== null && mine.has(this.#unconfirmed)) this.#unconfirmed = null;
    const others = this.#known.peek().filter(({ id }) => !mine.has(id));
    const at = others.findIndex(({ id }) => id === before);
    batch(() => {
      this.#known.value = others.toSpliced(Math.max(0, at), 0, ...page);
      this.#more.value = runs.length === 0 ? 0 : more;
    });
  }
}
