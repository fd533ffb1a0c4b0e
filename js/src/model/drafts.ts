/**
 * Unsent edits, kept in this browser per run and row: a reload or a click elsewhere loses nothing, and all of
 * its views show the same.
 */
import { type Signal, signal } from "@preact/signals";
import type { Draft } from "./model";
import type { Memory } from "./storage";

const DAYS_KEPT = 14;

interface Kept extends Draft {
  /** When it was last changed, in milliseconds. */
  at: number;
}

export class Drafts {
  readonly #memory: Memory;
  readonly #signals = new Map<string, Signal<Draft | null>>();
  readonly #stops: (() => void)[] = [];

  constructor(memory: Memory, now = Date.now()) {
    this.#memory = memory;
    for (const key of memory.keys("draft:")) {
      const kept = read(memory, key);
      if (!kept || now - kept.at > DAYS_KEPT * 864e5) memory.remove(key);
    }
    this.#stops.push(memory.watch((key) => this.#follow(key)));
  }

  /** The draft of a row; every change is kept at once. */
  of(run: string, row: string): Signal<Draft | null> {
    const key = `draft:${run}:${row}`;
    const known = this.#signals.get(key);
    if (known) return known;
    const kept = read(this.#memory, key);
    const draft = signal<Draft | null>(kept && { text: kept.text, revision: kept.revision });
    this.#signals.set(key, draft);
    let first = true; // subscribing tells the value as it is
    const stop = draft.subscribe((changed) => {
      if (!first) this.#keep(key, changed);
      first = false;
    });
    this.#stops.push(stop);
    return draft;
  }

  /** A run is gone: so are its drafts. */
  forget(run: string): void {
    const start = `draft:${run}:`;
    for (const [key, draft] of this.#signals) if (key.startsWith(start)) draft.value = null;
    for (const key of this.#memory.keys(start)) this.#memory.remove(key);
  }

  close(): void {
    for (const stop of this.#stops) stop();
  }

  /** Another view has changed a draft, or this one, which knows it already. */
  #follow(key: string): void {
    const draft = this.#signals.get(key);
    if (!draft) return;
    const kept = read(this.#memory, key);
    if (!same(kept, draft.peek()))
      draft.value = kept && { text: kept.text, revision: kept.revision };
  }

  #keep(key: string, draft: Draft | null): void {
    if (same(read(this.#memory, key), draft)) return; // it came from there
    if (draft === null) this.#memory.remove(key);
    else this.#memory.set(key, JSON.stringify({ ...draft, at: Date.now() } satisfies Kept));
  }
}

function same(one: Draft | null, other: Draft | null): boolean {
  return one?.text === other?.text && one?.revision === other?.revision;
}

function read(memory: Memory, key: string): Kept | null {
  const text = memory.get(key);
  if (text === null) return null;
  try {
    const kept: unknown = JSON.parse(text);
    return isKept(kept) ? kept : null;
  } catch {
    return null;
  }
}

function isKept(value: unknown): value is Kept {
  if (typeof value !== "object" || value === null) return false;
  const { text, revision, at } = value as Partial<Kept>;
  return typeof text === "string" && typeof revision === "number" && typeof at === "number";
}
