/** A person's words beside the rows of the shown run: those kept, and those on their way. */
import { type ReadonlySignal, signal } from "@preact/signals";
import { CommandError } from "../client/client";
import type { RowNote, WriteNote } from "../protocol/types.gen";
import type { Run } from "./model";

/** The Core takes no longer ones. */
export const LONGEST_NOTE = 10_000;

interface Links {
  /** The notes that are kept, by the id of the row that each stands beside. */
  kept: ReadonlySignal<ReadonlyMap<string, RowNote>>;
  run: ReadonlySignal<Run | null>;
  /** Hand a note to the Core; rejects where it isn't kept. */
  send(note: WriteNote): Promise<unknown>;
  /** Say what was refused. */
  trouble(code: string, message: string): void;
}

/** What a person put beside a row. */
export interface Written {
  text: string;
  /** When it was kept, in POSIX seconds; null where it isn't yet. */
  at: number | null;
}

export class Notes {
  /** The row whose note is being written (key `n`). */
  readonly writing = signal<string | null>(null);
  readonly #links: Links;
  /** What was written and isn't known to be kept, by run and row: nothing of it is lost with a link. */
  readonly #open = signal<ReadonlyMap<string, string>>(new Map());

  constructor(links: Links) {
    this.#links = links;
  }

  /** What stands beside a row. */
  of(row: string): Written | null {
    const kept = this.#links.kept.value.get(row);
    const open = this.#open.value.get(keyOf(this.#links.run.value?.id, row));
    if (open === undefined) return kept ?? null;
    return { text: open, at: null };
  }

  /** Put a text beside a row, in place of what stands there; "" takes it away. */
  async write(run: string, row: string, text: string): Promise<void> {
    const key = keyOf(run, row);
    const wanted = text.trim();
    if (this.#isKept(run, row, wanted)) return this.#note(key, null);
    this.#note(key, wanted);
    try {
      await this.#links.send({ run, message: row, text: wanted });
      this.#note(key, null);
    } catch (error) {
      // A lost link says so itself, in the header; the note goes on saying that it isn't kept.
      if (error instanceof CommandError) this.#links.trouble(error.code, error.message);
      if (wanted === "") this.#note(key, null); // the old one is there still, and shown again
    }
  }

  #isKept(run: string, row: string, text: string): boolean {
    const { kept, run: shown } = this.#links;
    return shown.peek()?.id === run && (kept.peek().get(row)?.text ?? "") === text;
  }

  #note(key: string, text: string | null): void {
    const next = new Map(this.#open.peek());
    if (text === null) next.delete(key);
    else next.set(key, text);
    this.#open.value = next;
  }
}

const keyOf = (run: string | undefined, row: string): string => `${run}:${row}`;
