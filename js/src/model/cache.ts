/** Contents that were asked for, the oldest let go once they are many or large. */

const MOST_ENTRIES = 300;
const MOST_CHARACTERS = 32 * 1024 * 1024;

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
      const full = this.#entries.size > MOST_ENTRIES || this.#characters > MOST_CHARACTERS;
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
