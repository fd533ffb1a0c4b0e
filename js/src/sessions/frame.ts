/** The frame of the runtime's line, a view's side of it: protocol/worker.py has both sides. */
import { decode } from "../protocol/messages";
import type { AskRuntime, Notice, RuntimeTells } from "../protocol/runtime.gen";

export const LINE_VERSION = 1;
/** Items of a stream that may be under way. */
export const WINDOW = 64;
const SERVICE = "runtime";

/** What can be asked for once; `watch` is a stream. */
export type Method = Exclude<keyof AskRuntime, "watch">;

/** What the Core says, as far as a view is told it. */
export type Told =
  | { type: "welcome"; version: number; core: string; control: boolean }
  | { type: "item"; id: string; value: Notice }
  | { type: "result"; id: string; value: RuntimeTells[Method] | null }
  | { type: "failed"; id: string | undefined; code: string; message: string };

/** Writes what goes out over one connection, each with its number. */
export class Writer {
  #n = 0;

  hello(name: string): string {
    const hello = { version: LINE_VERSION, worker: name, pid: 0, services: [] };
    return this.#write("hello", hello);
  }

  ask<M extends Method>(id: string, method: M, params: AskRuntime[M]): string {
    return this.#write("request", { service: SERVICE, method, params, window: 0 }, id);
  }

  watch(id: string, topic: string): string {
    const params: AskRuntime["watch"] = { topic };
    return this.#write(
      "request",
      { service: SERVICE, method: "watch", params, window: WINDOW },
      id,
    );
  }

  more(id: string, items: number): string {
    return this.#write("more", { items }, id);
  }

  cancel(id: string): string {
    return this.#write("cancel", {}, id);
  }

  #write(type: string, body: object, id?: string): string {
    this.#n += 1;
    return JSON.stringify({ n: this.#n, type, ...(id !== undefined && { id }), body });
  }
}

/** A message of the Core, whose body is believed to be what its type says; null where it is none. */
export function read(text: string): Told | null {
  const envelope = decode(text);
  if (!envelope || typeof envelope.body !== "object" || envelope.body === null) return null;
  const { type, id } = envelope;
  if (type !== "welcome" && type !== "failed" && id === undefined) return null;
  if (!KINDS.has(type)) return null;
  return { ...envelope.body, type, id } as Told;
}

const KINDS = new Set(["welcome", "item", "result", "failed"]);
