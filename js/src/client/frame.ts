/** The frame of a line, its asking side: protocol/worker.py has both sides. */
import { decode, type Envelope } from "../protocol/messages";

export const LINE_VERSION = 1;
/** Items of a stream that may be under way. */
export const WINDOW = 64;

/** What the other end says, as far as who only asks is told it. */
export type Told =
  | { type: "welcome"; version: number; core: string; control: boolean }
  | { type: "item"; id: string; value: unknown }
  | { type: "result"; id: string; value: unknown }
  | { type: "failed"; id: string | undefined; code: string; message: string };

/** Writes what goes out over one connection, each with its number. */
export class Writer {
  readonly #service: string;
  #n = 0;

  /** @param service Whom all is asked of. */
  constructor(service: string) {
    this.#service = service;
  }

  hello(name: string): string {
    const hello = { version: LINE_VERSION, worker: name, pid: 0, services: [] };
    return this.#write("hello", hello);
  }

  /** @param window Items that may come at first; 0 asks for a result alone. */
  request(id: string, method: string, params: unknown, window = 0): string {
    return this.#write("request", { service: this.#service, method, params, window }, id);
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

/** How an envelope is taken from its text. */
export type Decode = (text: string) => Envelope | null;

/** A message of the other end, whose body is believed to be what its type says; null where it is none. */
export function read(text: string, decoded: Decode = decode): Told | null {
  const envelope = decoded(text);
  if (!envelope || typeof envelope.body !== "object" || envelope.body === null) return null;
  const { type, id } = envelope;
  if (type !== "welcome" && type !== "failed" && id === undefined) return null;
  if (!KINDS.has(type)) return null;
  return { ...envelope.body, type, id } as Told;
}

const KINDS = new Set(["welcome", "item", "result", "failed"]);
