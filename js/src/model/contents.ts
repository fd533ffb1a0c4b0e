/** What the shown run holds: rows, commits and notes, as the Core's pushes change them. */
import { batch, signal } from "@preact/signals";
import type { Commit, Note, Row, RunOpened, ToUi } from "../protocol/types.gen";
import { foldCommit, foldNote, foldRows, replaceCommit } from "./fold";

type ContentName = "row" | "commit" | "commit_changed" | "note";

/** A push that changes what a run holds. */
export type ContentPush = { [P in ContentName]: { type: P; body: ToUi[P] } }[ContentName];

/** The run that a push is about. */
export const runOf = (push: ContentPush): string =>
  push.type === "note" ? push.body.note.run : push.body.run;

export class Contents {
  readonly rows = signal<readonly Row[]>([]);
  readonly commits = signal<readonly Commit[]>([]);
  /** By the id of the row that they stand beside. */
  readonly notes = signal<ReadonlyMap<string, Note>>(new Map());

  /** Take a run's contents whole: they replace what was known. */
  show({ rows, commits, notes }: Omit<RunOpened, "run">): void {
    batch(() => {
      this.rows.value = rows;
      this.commits.value = commits;
      this.notes.value = new Map(notes.map((note) => [note.message, note]));
    });
  }

  /** Take changes, in order. */
  fold(pushes: readonly ContentPush[]): void {
    batch(() => {
      const rows: Row[] = [];
      for (const { type, body } of pushes) {
        if (type === "row") rows.push(body.row);
        else if (type === "note") this.notes.value = foldNote(this.notes.peek(), body.note);
        else {
          const fold = type === "commit" ? foldCommit : replaceCommit;
          this.commits.value = fold(this.commits.peek(), body.commit);
        }
      }
      this.rows.value = foldRows(this.rows.peek(), rows); // at once: each time copies them all
    });
  }
}
