/** Which rows a filter leaves in a run that isn't all here: the Core looks, once the person pauses. */
import { type ReadonlySignal, signal } from "@preact/signals";
import type { Timers } from "../client/backoff";
import { CommandError } from "../client/client";
import type { FindRows, RowsFound } from "../protocol/types.gen";

const PAUSE_MS = 200;
/** A run that grows or changes is looked through again after so long. */
const AGAIN_MS = 1000;

/** What was found. */
export interface Matches {
  readonly text: string;
  /** The numbers of rows, rising; the last ones where there are very many. */
  readonly seqs: readonly number[];
  readonly total: number;
  /** How many rows the run had. */
  readonly until: number;
}

interface Wanted {
  readonly run: string;
  readonly text: string;
  /** How many rows the run has. */
  readonly length: number;
}

interface Options {
  ask(wanted: FindRows): Promise<RowsFound>;
  timers: Timers;
  trouble(error: CommandError): void;
}

export class RowFinder {
  /** What was found last; stays until the next is. */
  readonly found: ReadonlySignal<Matches | null>;
  readonly #found = signal<Matches | null>(null);
  readonly #options: Options;
  #wanted: Wanted | null = null;
  /** What is being looked for; another question would end it. */
  #asked: Wanted | null = null;
  #changed = false;
  #cancel: (() => void) | null = null;

  constructor(options: Options) {
    this.#options = options;
    this.found = this.#found;
  }

  /** Look for rows; null: no longer. What was looked for before and isn't found yet is let go. */
  look(wanted: Wanted | null): void {
    const before = this.#wanted;
    if (wanted && before && same(wanted, before) && wanted.length === before.length) return;
    this.#wanted = wanted;
    if (wanted === null || wanted.run !== before?.run) this.#found.value = null;
    if (wanted !== null && before !== null && same(wanted, before)) {
      this.#again();
      return;
    }
    this.#cancel?.();
    this.#cancel = null;
    if (wanted) this.#later(PAUSE_MS);
  }

  /** Rows have changed, so that what was found may not be true any more. */
  changed(): void {
    if (!this.#wanted) return;
    this.#changed = true;
    this.#again();
  }

  /** The run has grown, or changed. What is waited for isn't put off by that, else it would never come. */
  #again(): void {
    if (this.#cancel || this.#asked) return;
    this.#later(AGAIN_MS);
  }

  #later(ms: number): void {
    this.#cancel = this.#options.timers.after(ms, () => {
      this.#cancel = null;
      void this.#ask();
    });
  }

  async #ask(): Promise<void> {
    const wanted = this.#wanted;
    if (!wanted) return;
    const { run, text, length } = wanted;
    this.#asked = wanted;
    this.#changed = false;
    try {
      const { seqs, total } = await this.#options.ask({ run, text });
      const now = this.#wanted;
      if (now && same(now, wanted)) this.#found.value = { text, seqs, total, until: length };
    } catch (error) {
      // A lost link says so itself; what was found stays.
      const told = error instanceof CommandError && this.#asked === wanted;
      if (told && this.#wanted) this.#options.trouble(error);
    } finally {
      if (this.#asked === wanted) {
        this.#asked = null;
        if (this.#wanted && (this.#changed || this.#wanted.length > length)) this.#again();
      }
    }
  }
}

const same = (one: Wanted, other: Wanted): boolean =>
  one.run === other.run && one.text === other.text;
