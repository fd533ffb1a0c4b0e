/** A person's words beside the rows of the shown run: those kept, and those on their way. */
import { type ReadonlySignal, signal } from "@preact/signals";
import { CommandError } from "../client/core_client";
import type { RowNote, WriteNote } from "../protocol/types.gen";
import type { Run } from "./model";

/** The Core takes no longer ones. */
export const MAX_NOTE_CHARS = 10_000;

interface NotesOptions {
  /** The notes that are kept, by the id of the row that each stands beside. */
  storedNotes: ReadonlySignal<ReadonlyMap<string, RowNote>>;
  run: ReadonlySignal<Run | null>;
  /** Hand a note to the Core; rejects where it isn't kept. */
  send(note: WriteNote): Promise<unknown>;
  /** Say what was refused. */
  onError(code: string, message: string): void;
}

/** What a person put beside a row. */
export interface NoteText {
  text: string;
  /** When it was kept, in POSIX seconds; null where it isn't yet. */
  at: number | null;
}

export class Notes {
  /** The row whose note is being written (key `n`). */
  readonly writing = signal<string | null>(null);
  readonly #options: NotesOptions;
  /** What was written and isn't known to be kept, by run and row: nothing of it is lost with a link. */
  readonly #unsaved = signal<ReadonlyMap<string, string>>(new Map());

  constructor(options: NotesOptions) {
    this.#options = options;
  }

  /** What stands beside a row. */
  get(row: string): NoteText | null {
    const storedNotes = this.#options.storedNotes.value.get(row);
    const open = this.#unsaved.value.get(keyOf(this.#options.run.value?.id, row));
    if (open === undefined) return storedNotes ?? null;
    return { text: open, at: null };
  }

  /** Put a text beside a row, in place of what stands there; "" takes it away. */
  async write(run: string, row: string, text: string): Promise<void> {
    const key = keyOf(run, row);
    const trimmed = text.trim();
    if (this.#isStored(run, row, trimmed) && !this.#unsaved.peek().has(key)) return;
    this.#setUnsaved(key, trimmed);
    try {
      await this.#options.send({ run, message: row, text: trimmed });
      this.#clearUnsaved(key, trimmed);
    } catch (error) {
      // A lost link says so itself, in the header; the note goes on saying that it isn't kept.
      if (error instanceof CommandError) this.#options.onError(error.code, error.message);
      if (trimmed === "") this.#clearUnsaved(key, ""); // the old one is there still, and shown again
    }
  }

  #isStored(run: string, row: string, text: string): boolean {
    const { storedNotes, run: shown } = this.#options;
    return shown.peek()?.id === run && (storedNotes.peek().get(row)?.text ?? "") === text;
  }

  /** This text waits no more; another that was written meanwhile does. */
  #clearUnsaved(key: string, text: string): void {
    if (this.#unsaved.peek().get(key) === text) this.#setUnsaved(key, null);
  }

  #setUnsaved(key: string, text: string | null): void {
    const next = new Map(this.#unsaved.peek());
    if (text === null) next.delete(key);
    else next.set(key, text);
    this.#unsaved.value = next;
  }
}

const keyOf = (run: string | undefined, row: string): string => `${run}:${row}`;
