/** What is fetched of a run: bodies, files, commits; fetched once, and kept for a while. */
import { batch, computed, signal } from "@preact/signals";
import type { Client, CommandError } from "../client/core_client";
import type { Timers } from "../client/transport";
import type {
  FileBody,
  MessageBody,
  RowNote,
  Run,
  RunOpened,
  RunOverview,
  SearchResults,
  TimelineRow,
  ToUi,
} from "../protocol/types.gen";
import { CommitPages } from "./commits";
import { Lanes } from "./lanes";
import { RowWindow } from "./row_window";
import { foldNote, RowFinder } from "./rows";

type ContentName = "row" | "commit" | "commit_changed" | "note";

/** A push that changes what a run holds. */
export type ContentPush = { [P in ContentName]: { type: P; body: ToUi[P] } }[ContentName];

/** The run that a push is about. */
export const runOf = (push: ContentPush): string =>
  push.type === "note" ? push.body.note.run : push.body.run;

interface ContentsOptions {
  client: Client;
  timers: Timers;
  /** Take the pushes that came until now: an answer comes after them. */
  flush(): void;
  /** Rows came that were asked for. */
  onRows(): void;
  /** Rows that stay here. */
  retainedRows(): Iterable<TimelineRow>;
  onError(error: CommandError): void;
}

export class Contents {
  readonly window: RowWindow;
  /** The rows that are here, by seq. */
  readonly rows = computed(() => this.window.rows.value.all);
  /** The agents of the run, as far as its rows have been here or the Core has told. */
  readonly lanes = computed(() => {
    const { all, complete } = this.window.rows.value;
    const run = this.#run.value;
    const found = this.finder.found.value;
    const starts = found?.run === run ? found.laneStarts : null;
    this.#lanes = this.#lanes.merge(run, all, complete, starts);
    return this.#lanes;
  });
  #lanes = Lanes.NONE;
  readonly #run = signal("");
  readonly commits: CommitPages;
  /** By the id of the row that they stand beside. */
  readonly notes = signal<ReadonlyMap<string, RowNote>>(new Map());
  /** Finds the rows that a filter leaves where they aren't all here. */
  readonly finder: RowFinder;

  constructor({ client, timers, flush, onRows, retainedRows, onError }: ContentsOptions) {
    this.window = new RowWindow({
      request: (query, onAnswer) =>
        client.request("get_rows", query, (page) => {
          flush();
          onAnswer(page);
        }),
      onPage: (page) => {
        this.commits.addFromRows(page.commits);
        onRows();
      },
      retainedRows,
      onError,
    });
    this.commits = new CommitPages({
      request: (query) => client.request("get_commits", query),
      onError,
    });
    this.finder = new RowFinder({
      request: (query) => client.request("find_rows", query),
      timers,
      onError,
    });
  }

  /** Take what a run's opening brings: its last rows and commits, and all notes. */
  show(opened: RunOpened | null): void {
    const { run, rows, commits, notes } = opened ?? { rows: [], commits: [], notes: [] };
    const id = run?.id ?? "";
    batch(() => {
      this.#run.value = id;
      this.window.show(id, rows, run?.rows ?? 0);
      this.commits.show(id, commits, (rows[0]?.seq ?? 1) <= 1);
      this.notes.value = new Map(notes.map((note) => [note.message, note]));
      this.finder.changed(); // while there was no link
    });
  }

  /** Take changes, in order, and how many rows the run has by now. */
  applyPush(pushes: readonly ContentPush[], run: Run | null): void {
    batch(() => {
      const rows: TimelineRow[] = [];
      for (const { type, body } of pushes) {
        if (type === "row") rows.push(body.row);
        else if (type === "note") this.notes.value = foldNote(this.notes.peek(), body.note);
        else this.commits.fold(type, body.commit);
      }
      this.window.applyRows(rows, run?.rows ?? 0); // at once: each time copies their pages
      if (pushes.some(({ type }) => type !== "note")) this.finder.changed();
    });
  }
}

// ---- What the person reads: contents of rows and files, kept for a while, and runs as they stand.

/** So many places are found in a run; the Core gives no more at once. */
const MAX_SEARCH_HITS = 500;

export class Reader {
  readonly #client: Client;
  readonly #bodies = new Cache<MessageBody>(({ data, edit }) => data.length + (edit?.length ?? 0));
  readonly #changes = new Cache<FileBody | null>((body) =>
    body ? body.diff.length + body.content.length + body.previous_content.length : 0,
  );

  constructor(client: Client) {
    this.#client = client;
  }

  /** A row's contents; of one that asked for an approval, also what was answered. */
  body(run: string, row: TimelineRow): Promise<MessageBody> {
    const decision = row.approval ? row.answer : "";
    return this.#bodies.get(`${run}:${row.id}:${row.revision}:${decision}`, () =>
      this.#client.request("get_message", { run, message: row.id }),
    );
  }

  /** A changed file's contents; null where it is binary or too large. */
  change(run: string, commit: string, path: string): Promise<FileBody | null> {
    return this.#changes.get(`${run}:${commit}:${path}`, async () => {
      const { body } = await this.#client.request("get_change", { run, commit, path });
      return body;
    });
  }

  /** Where words stand in a run, newest first. */
  search(run: string, query: string): Promise<SearchResults> {
    return this.#client.request("search", { query, run, limit: MAX_SEARCH_HITS });
  }

  /** A run at a glance, as it stands now; it isn't kept. */
  overview(run: string): Promise<RunOverview> {
    return this.#client.request("get_overview", { run });
  }

  /** A run whole, as it stands now; it isn't kept. */
  run(run: string): Promise<RunOpened> {
    return this.#client.request("read_run", { run });
  }
}

// ---- Contents that were asked for, the oldest let go once they are many or large.

const MAX_ENTRIES = 300;
const MAX_CHARACTERS = 32 * 1024 * 1024;

interface Entry<T> {
  value: Promise<T>;
  characters: number;
}

export class Cache<T> {
  readonly #entries = new Map<string, Entry<T>>();
  readonly #measure: (value: T) => number;
  #characters = 0;

  /** @param measure How many characters a value holds. */
  constructor(measure: (value: T) => number) {
    this.#measure = measure;
  }

  /** What is kept under a key, else what `fetch` gives. A failure isn't kept. */
  get(key: string, fetch: () => Promise<T>): Promise<T> {
    const known = this.#entries.get(key);
    if (known) {
      // To the end: a Map's order is that of insertion, so the first is the longest unused.
      this.#entries.delete(key);
      this.#entries.set(key, known);
      return known.value;
    }
    const entry: Entry<T> = { value: fetch(), characters: 0 };
    this.#entries.set(key, entry);
    entry.value.then(
      (value) => this.#weigh(key, entry, this.#measure(value)),
      () => this.#remove(key, entry),
    );
    return entry.value;
  }

  #weigh(key: string, entry: Entry<T>, characters: number): void {
    if (this.#entries.get(key) !== entry) return;
    entry.characters = characters;
    this.#characters += characters;
    for (const [oldKey, old] of this.#entries) {
      const full = this.#entries.size > MAX_ENTRIES || this.#characters > MAX_CHARACTERS;
      if (!full || old === entry) break;
      this.#remove(oldKey, old);
    }
  }

  #remove(key: string, entry: Entry<T>): void {
    if (this.#entries.get(key) !== entry) return;
    this.#entries.delete(key);
    this.#characters -= entry.characters;
  }
}
