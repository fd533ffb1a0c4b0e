/** What the shown run holds: rows, commits and notes, as far as they are here and as pushes change them. */
import { batch, computed, signal } from "@preact/signals";
import type { Timers } from "../client/backoff";
import type { Client, CommandError } from "../client/client";
import type { Note, Row, Run, RunOpened, ToUi } from "../protocol/types.gen";
import { CommitPages } from "./commit_pages";
import { foldNote } from "./fold";
import { RowFinder } from "./row_finder";
import { Window } from "./window";

type ContentName = "row" | "commit" | "commit_changed" | "note";

/** A push that changes what a run holds. */
export type ContentPush = { [P in ContentName]: { type: P; body: ToUi[P] } }[ContentName];

/** The run that a push is about. */
export const runOf = (push: ContentPush): string =>
  push.type === "note" ? push.body.note.run : push.body.run;

interface Options {
  client: Client;
  timers: Timers;
  /** Take the pushes that came until now: an answer comes after them. */
  flush(): void;
  /** Rows came that were asked for. */
  came(): void;
  /** Rows that stay here. */
  held(): Iterable<Row>;
  trouble(error: CommandError): void;
}

export class Contents {
  readonly window: Window;
  /** The rows that are here, by seq. */
  readonly rows = computed(() => this.window.rows.value.all);
  readonly commits: CommitPages;
  /** By the id of the row that they stand beside. */
  readonly notes = signal<ReadonlyMap<string, Note>>(new Map());
  /** Finds the rows that a filter leaves where they aren't all here. */
  readonly finder: RowFinder;

  constructor({ client, timers, flush, came, held, trouble }: Options) {
    this.window = new Window({
      ask: (wanted, take) =>
        client.request("get_rows", wanted, (page) => {
          flush();
          take(page);
        }),
      took: (page) => {
        this.commits.beside(page.commits);
        came();
      },
      held,
      trouble,
    });
    this.commits = new CommitPages({
      ask: (wanted) => client.request("get_commits", wanted),
      trouble,
    });
    this.finder = new RowFinder({
      ask: (wanted) => client.request("find_rows", wanted),
      timers,
      trouble,
    });
  }

  /** Take what a run's opening brings: its last rows and commits, and all notes. */
  show(opened: RunOpened | null): void {
    const { run, rows, commits, notes } = opened ?? { rows: [], commits: [], notes: [] };
    const id = run?.id ?? "";
    batch(() => {
      this.window.show(id, rows, run?.rows ?? 0);
      this.commits.show(id, commits, (rows[0]?.seq ?? 1) <= 1);
      this.notes.value = new Map(notes.map((note) => [note.message, note]));
      this.finder.changed(); // while there was no link
    });
  }

  /** Take changes, in order, and how many rows the run has by now. */
  fold(pushes: readonly ContentPush[], run: Run | null): void {
    batch(() => {
      const rows: Row[] = [];
      for (const { type, body } of pushes) {
        if (type === "row") rows.push(body.row);
        else if (type === "note") this.notes.value = foldNote(this.notes.peek(), body.note);
        else this.commits.fold(type, body.commit);
      }
      this.window.fold(rows, run?.rows ?? 0); // at once: each time copies their pages
      if (pushes.some(({ type }) => type !== "note")) this.finder.changed();
    });
  }
}
