/** What is being written, by session: it outlives a drawing anew, a look elsewhere, and a reload. */
import { signal } from "@preact/signals";
import { browserMemory, type Memory } from "../model/storage";

/** Letters that are kept over a reload: a tab's storage is small. */
const KEPT = 100_000;
const key = (session: string) => `chat-draft:${session}`;

export class Drafts {
  readonly #memory: Memory;
  readonly #texts = signal<ReadonlyMap<string, string>>(new Map());

  constructor(memory: Memory = browserMemory(() => sessionStorage)) {
    this.#memory = memory;
  }

  /** The draft of a session; read in a drawing, it is drawn anew when it changes. */
  of(session: string): string {
    return this.#texts.value.get(session) ?? this.#memory.get(key(session)) ?? "";
  }

  peek(session: string): string {
    return this.#texts.peek().get(session) ?? this.#memory.get(key(session)) ?? "";
  }

  set(session: string, text: string): void {
    this.#texts.value = new Map([...this.#texts.peek(), [session, text]]);
    if (text === "" || text.length > KEPT) this.#memory.remove(key(session));
    else this.#memory.set(key(session), text);
  }
}
