/** The list of sessions: those that are live, and those that are kept and can be opened again. */
import { signal } from "@preact/signals";
import type { SessionInfo } from "../protocol/chat.gen";
import type { ChatLine } from "./line";

export class Sessions {
  /** The newest first; null until they were told, and where a view may see only one. */
  readonly all = signal<readonly SessionInfo[] | null>(null);
  /** Whether the list is in sight. */
  readonly shown = signal(false);
  /** The session whose deletion waits for a second word. */
  readonly doomed = signal<string | null>(null);
  /** What went wrong here, until it is dismissed or something else is asked. */
  readonly news = signal<string | null>(null);
  readonly #line: ChatLine;
  #leave = () => {};

  constructor(line: ChatLine) {
    this.#line = line;
  }

  watch(): void {
    this.#leave = this.#line.watch(
      "watch_sessions",
      {},
      ({ sessions }) => {
        this.all.value = sessions;
      },
      () => {
        this.all.value = null;
      },
    );
  }

  leave(): void {
    this.#leave();
  }

  find(id: string): SessionInfo | undefined {
    return this.all.peek()?.find((each) => each.id === id);
  }

  /** Begin one; gives back its id, null where that was refused. */
  async create(): Promise<string | null> {
    return (await this.#attempt(() => this.#line.ask("create", {})))?.id ?? null;
  }

  /** Make a kept one live again; whether it is. */
  async open(session: string): Promise<boolean> {
    return (await this.#attempt(() => this.#line.ask("open", { session }))) !== null;
  }

  /** Delete one, with all that was said in it. */
  async remove(session: string): Promise<void> {
    this.doomed.value = null;
    await this.#attempt(() => this.#line.ask("remove", { session }));
  }

  async #attempt<T>(act: () => Promise<T>): Promise<T | null> {
    this.news.value = null;
    try {
      return await act();
    } catch (error) {
      this.news.value = (error as Error).message;
      return null;
    }
  }
}
