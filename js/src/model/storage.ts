/** What the browser keeps: sizes and choices, and edits that were not sent. */
import { type Signal, signal } from "@preact/signals";
import type { Draft } from "./model";

// ---- This browser's memory: small things a person would be sorry to lose. Never throws: it may be shut.

const PREFIX = "agentstepper:";

export interface KeyValueStorage {
  get(key: string): string | null;
  set(key: string, value: string): void;
  remove(key: string): void;
  /** The keys that begin so. */
  keys(start: string): string[];
  /**
   * Hear of changes, whoever of this browser makes them: this memory too, and the views of other tabs.
   *
   * @param changed Called with the key.
   * @returns Ends it.
   */
  watch(changed: (key: string) => void): () => void;
}

/** Told in the window that wrote: the browser's own event is for the others. */
const WRITTEN = "agentstepper:written";

/** Memory in a web storage; by default the one that outlives the tab. */
export function browserStorage(storage: () => Storage = () => localStorage): KeyValueStorage {
  const attempt = <T>(otherwise: T, use: (storage: Storage) => T): T => {
    try {
      return use(storage());
    } catch {
      return otherwise; // shut by the browser's settings, or full
    }
  };
  const change = (key: string, make: (storage: Storage) => void) => {
    // What couldn't be written isn't told: who reads it then would drop what they have.
    const area = attempt(null, (storage) => {
      make(storage);
      return storage;
    });
    if (area) window.dispatchEvent(new CustomEvent(WRITTEN, { detail: { area, key } }));
  };
  return {
    get: (key) => attempt(null, (s) => s.getItem(PREFIX + key)),
    set: (key, value) => change(key, (s) => s.setItem(PREFIX + key, value)),
    remove: (key) => change(key, (s) => s.removeItem(PREFIX + key)),
    keys: (start) =>
      attempt([], (s) =>
        Object.keys(s)
          .filter((key) => key.startsWith(PREFIX + start))
          .map((key) => key.slice(PREFIX.length)),
      ),
    watch(changed) {
      const mine = (area: Storage | null) => attempt(false, (s) => s === area);
      const onStorage = ({ key, storageArea }: StorageEvent) => {
        if (key?.startsWith(PREFIX) && mine(storageArea)) changed(key.slice(PREFIX.length));
      };
      const onWritten = (event: Event) => {
        const { area, key } = (event as CustomEvent<{ area: Storage | null; key: string }>).detail;
        if (mine(area)) changed(key);
      };
      window.addEventListener("storage", onStorage);
      window.addEventListener(WRITTEN, onWritten);
      return () => {
        window.removeEventListener("storage", onStorage);
        window.removeEventListener(WRITTEN, onWritten);
      };
    },
  };
}

// ---- Unsent edits, kept in this browser per run and row: a reload or a click elsewhere loses nothing, and
// all of its views show the same.

const RETENTION_DAYS = 14;

interface StoredDraft extends Draft {
  /** When it was last changed, in milliseconds. */
  at: number;
}

export class Drafts {
  readonly #memory: KeyValueStorage;
  readonly #signals = new Map<string, Signal<Draft | null>>();
  readonly #disposers: (() => void)[] = [];

  constructor(memory: KeyValueStorage, now = Date.now()) {
    this.#memory = memory;
    for (const key of memory.keys("draft:")) {
      const kept = read(memory, key);
      if (!kept || now - kept.at > RETENTION_DAYS * 864e5) memory.remove(key);
    }
    this.#disposers.push(memory.watch((key) => this.#follow(key)));
  }

  /** The draft of a row; every change is kept at once. */
  signalFor(run: string, row: string): Signal<Draft | null> {
    const key = `draft:${run}:${row}`;
    const known = this.#signals.get(key);
    if (known) return known;
    const kept = read(this.#memory, key);
    const draft = signal<Draft | null>(kept && draftOf(kept));
    this.#signals.set(key, draft);
    let first = true; // subscribing tells the value as it is
    const unsubscribe = draft.subscribe((changed) => {
      if (!first) this.#store(key, changed);
      first = false;
    });
    this.#disposers.push(unsubscribe);
    return draft;
  }

  /** A run is gone: so are its drafts. */
  forget(run: string): void {
    const start = `draft:${run}:`;
    for (const [key, draft] of this.#signals) if (key.startsWith(start)) draft.value = null;
    for (const key of this.#memory.keys(start)) this.#memory.remove(key);
  }

  close(): void {
    for (const unsubscribe of this.#disposers) unsubscribe();
  }

  /** Another view has changed a draft, or this one, which knows it already. */
  #follow(key: string): void {
    const draft = this.#signals.get(key);
    if (!draft) return;
    const kept = read(this.#memory, key);
    if (!same(kept, draft.peek())) draft.value = kept && draftOf(kept);
  }

  #store(key: string, draft: Draft | null): void {
    if (same(read(this.#memory, key), draft)) return; // it came from there
    if (draft === null) this.#memory.remove(key);
    else this.#memory.set(key, JSON.stringify({ ...draft, at: Date.now() } satisfies StoredDraft));
  }
}

function same(one: Draft | null, other: Draft | null): boolean {
  const isSticky = one?.sticky === other?.sticky;
  return one?.text === other?.text && one?.revision === other?.revision && isSticky;
}

function draftOf({ text, revision, sticky }: StoredDraft): Draft {
  return sticky === true ? { text, revision, sticky } : { text, revision };
}

function read(memory: KeyValueStorage, key: string): StoredDraft | null {
  const text = memory.get(key);
  if (text === null) return null;
  try {
    const kept: unknown = JSON.parse(text);
    return isStoredDraft(kept) ? kept : null;
  } catch {
    return null;
  }
}

function isStoredDraft(value: unknown): value is StoredDraft {
  if (typeof value !== "object" || value === null) return false;
  const { text, revision, at } = value as Partial<StoredDraft>;
  return typeof text === "string" && typeof revision === "number" && typeof at === "number";
}
