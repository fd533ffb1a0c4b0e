/** All runs, for who looks back: sorted, searched, tagged, and taken in and out as files. */
import { computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { type Client, CommandError, LinkLost } from "../client/core_client";
import type { FromUi, RunExported, SearchHit, StoreInfo } from "../protocol/types.gen";
import type { Run } from "./model";
import type { KeyValueStorage } from "./storage";

const COLUMNS = ["name", "state", "started", "events", "tokens", "duration"] as const;
/** What the list of runs can be sorted by. */
export type Column = (typeof COLUMNS)[number];

export interface Order {
  by: Column;
  /** Whether the largest, or the newest, comes first. */
  down: boolean;
}

/** Which runs the list shows; "" is all of them. */
export interface RunFilter {
  text: string;
  outcome: string;
  tag: string;
}

/** What a search has come to. What an earlier one has found stays until the next answer. */
export interface SearchState {
  query: string;
  /** Null until there was an answer. */
  hits: readonly SearchHit[] | null;
  more: boolean;
  busy: boolean;
  problem: string | null;
}

/** What is told of a file that goes out or comes in. */
export interface FileNotice {
  text: string;
  tone: "busy" | "good" | "bad";
}

export type ExportFormat = RunExported["format"];

/** What of a view's model the Runs tab works on. */
export interface HistoryOptions {
  client: Client;
  memory: KeyValueStorage;
  runs: ReadonlySignal<readonly Run[]>;
  store: Signal<StoreInfo | null>;
  /** That the list is to take the focus; null once it has. */
  focused: Signal<object | null>;
}

const historyByModel = new WeakMap<HistoryOptions, History>();

/** The Runs tab's state, made when the tab is first drawn: its code travels in the tab's chunk. */
export function historyOf({ historyOptions }: { historyOptions: HistoryOptions }): History {
  const history = historyByModel.get(historyOptions) ?? new History(historyOptions);
  historyByModel.set(historyOptions, history);
  return history;
}

const ORDER = "runs:order";
const NEWEST_FIRST: Order = { by: "started", down: true };
/** Places that a search asks for at first, and where there are more. */
const FIRST_HITS = 100;
export const MAX_HITS = 500;
/** The wire's largest message is 64 MiB; a little of it is the frame around the file. */
const LARGEST = 64 * 1024 * 1024 - 4096;
/** Two are compared. */
const TWO_RUNS = 2;

export class History {
  readonly filter = signal<RunFilter>({ text: "", outcome: "", tag: "" });
  readonly searchState = signal<SearchState | null>(null);
  readonly fileNotice = signal<FileNotice | null>(null);
  /** The run that was imported last: a new object each time. */
  readonly imported = signal<{ run: string } | null>(null);
  readonly focused: Signal<object | null>;
  readonly order: ReadonlySignal<Order>;
  /** The runs to compare, two at most, as they were chosen. */
  readonly chosen: ReadonlySignal<readonly string[]>;

  readonly #options: HistoryOptions;
  readonly #order: Signal<Order>;
  readonly #picked = signal<readonly string[]>([]);

  constructor(options: HistoryOptions) {
    this.#options = options;
    this.focused = options.focused;
    this.#order = signal(readOrder(options.memory));
    this.order = this.#order;
    this.chosen = computed(() => {
      const picked = this.#picked.value;
      if (picked.length === 0) return picked;
      return picked.filter((id) => options.runs.value.some((run) => run.id === id));
    });
  }

  /** Sort by a column; the same again turns it around. Kept in this browser. */
  sort(by: Column): void {
    const now = this.#order.peek();
    const down = now.by === by ? !now.down : by !== "name" && by !== "state";
    this.#order.value = { by, down };
    this.#options.memory.set(ORDER, JSON.stringify(this.#order.peek()));
  }

  /** Show fewer runs, or more again. */
  setFilter(to: Partial<RunFilter>): void {
    this.filter.value = { ...this.filter.peek(), ...to };
  }

  /** Choose a run to compare, or let it go; a third takes the place of the first. */
  choose(run: string): void {
    const now = this.chosen.peek();
    this.#picked.value = now.includes(run)
      ? now.filter((id) => id !== run)
      : [...now, run].slice(-TWO_RUNS);
  }

  /** Look for words in all runs; none end the search. */
  async search(words: string, limit = FIRST_HITS): Promise<void> {
    const query = words.trim();
    if (query === "") {
      this.searchState.value = null;
      return;
    }
    const before = this.searchState.peek() ?? { hits: null, more: false };
    const asked: SearchState = { ...before, query, busy: true, problem: null };
    this.searchState.value = asked;
    const settle = (found: Partial<SearchState>) => {
      // Else it was ended, or other words were asked for since.
      if (this.searchState.peek() === asked)
        this.searchState.value = { ...asked, busy: false, ...found };
    };
    try {
      const { hits, more } = await this.#options.client.request("search", { query, limit });
      settle({ hits, more });
    } catch (error) {
      settle({ hits: null, more: false, problem: searchWords(error) });
    }
  }

  /** Ask how runs are kept, and how much room they take. */
  requestStoreInfo = async (): Promise<void> => {
    try {
      const { store } = await this.#options.client.request("get_store", {});
      this.#options.store.value = store;
    } catch (error) {
      searchWords(error); // what was known of it stays
    }
  };

  /** Give a run these tags, in place of those it has. Tells why not, where it is refused. */
  async tag(run: string, tags: FromUi["tag_run"]["tags"]): Promise<string | null> {
    try {
      await this.#options.client.request("tag_run", { run, tags });
      return null;
    } catch (error) {
      return searchWords(error);
    }
  }

  /** A run as a file; null where it can't be had, and the news say why. */
  async exportRun({ id, name }: Run, format: ExportFormat): Promise<RunExported | null> {
    this.fileNotice.value = { text: `Exporting “${name}”…`, tone: "busy" };
    try {
      const exported = await this.#options.client.request("export_run", { run: id, format });
      this.fileNotice.value = null;
      return exported;
    } catch (error) {
      this.fileNotice.value = {
        text: `“${name}” isn’t exported: ${searchWords(error)}`,
        tone: "bad",
      };
      return null;
    }
  }

  /**
   * Take a run in.
   *
   * @param file The file's name, for the news.
   * @param read Gives what it holds, as it travels.
   */
  async importRun(file: string, read: () => Promise<string>): Promise<void> {
    this.fileNotice.value = { text: `Importing ${file}…`, tone: "busy" };
    try {
      const data = await read();
      if (data.length > LARGEST) throw new TooLarge();
      const { run } = await this.#options.client.request("import_run", { data });
      this.imported.value = { run: run.id };
      this.fileNotice.value = { text: `Imported “${run.name}”`, tone: "good" };
    } catch (error) {
      this.fileNotice.value = {
        text: `${file} isn’t imported: ${searchWords(error)}`,
        tone: "bad",
      };
      return;
    }
    await this.requestStoreInfo();
  }
}

class TooLarge extends Error {
  constructor() {
    super("The file is too large: a view can send up to 48 MB.");
  }
}

/** What went wrong, for a person; what they can do nothing about is thrown on. */
function searchWords(error: unknown): string {
  const told = error instanceof CommandError || error instanceof LinkLost;
  if (told || error instanceof TooLarge || error instanceof DOMException) return error.message;
  throw error;
}

function readOrder(memory: KeyValueStorage): Order {
  const text = memory.get(ORDER);
  try {
    const kept: unknown = JSON.parse(text ?? "null");
    return isOrder(kept) ? kept : NEWEST_FIRST;
  } catch {
    return NEWEST_FIRST;
  }
}

function isOrder(value: unknown): value is Order {
  if (typeof value !== "object" || value === null) return false;
  const { by, down } = value as Partial<Order>;
  return COLUMNS.some((column) => column === by) && typeof down === "boolean";
}
