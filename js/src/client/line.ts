/** A view's end of a line: requests, streams with credit, and a link that is kept up. */
import { batch, type ReadonlySignal } from "@preact/signals";
import type { Connection } from "../model/model";
import { decode, type Envelope } from "../protocol/messages";
import { CommandError, LinkLost } from "./client";
import { KeptLink } from "./kept_link";
import type { Timers, Transport } from "./transport";

/** Who hears of a stream's items. It may hear the first one again: on each connection anew. */
export type Hear<T> = (item: T) => void;

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/** A stream that is watched; on each connection anew. */
interface Watched {
  readonly method: string;
  readonly params: unknown;
  readonly hear: Hear<unknown>;
  /** What becomes of its being refused. */
  readonly refused: (error: CommandError) => void;
  /** The stream's id on this connection; null where there is none. */
  id: string | null;
  /** Items that were taken since room was made last. */
  taken: number;
}

export interface LineOptions {
  transport: Transport;
  /** The service that is asked. */
  service: string;
  /** The view's name and version, for hello. */
  name: string;
  /** Who is at the other end, as a sentence begins with it. */
  peer?: string;
  /** Something went wrong that answers no request. */
  trouble(message: string): void;
  timers?: Timers;
  /** How envelopes are read, where the usual way would change what they hold. */
  decode?: Decode;
}

/**
 * A line to one service.
 *
 * Type parameters: what its methods are asked with, what they answer or what each item of a stream is,
 * and which of them are streams.
 */
export class Line<
  Asks extends object,
  Tells extends Record<keyof Asks, unknown>,
  Streams extends keyof Asks & string,
> {
  readonly #options: LineOptions;
  readonly #kept: KeptLink;
  readonly #waiting = new Map<string, Waiting>();
  readonly #watched = new Set<Watched>();
  #writer: Writer;
  #ids = 0;

  constructor(options: LineOptions) {
    this.#options = options;
    this.#writer = new Writer(options.service);
    const speaker = {
      begin: () => {
        this.#writer = new Writer(options.service);
      },
      greet: () => this.#kept.send(this.#writer.hello(options.name)),
      receive: (text: string) => this.#receive(text),
      abandon: () => this.#abandon(),
    };
    this.#kept = new KeptLink(options.transport, speaker, options.timers);
  }

  get connection(): ReadonlySignal<Connection> {
    return this.#kept.connection;
  }

  /** Begin; from here on it keeps itself connected until `close`. */
  start(): void {
    this.#kept.open();
  }

  /** Try now instead of later, unless the link stands and its answers come. */
  retry(): void {
    this.#kept.retry();
  }

  close(): void {
    this.#kept.close();
  }

  /** Ask, and wait for the answer. Rejects with CommandError or LinkLost. */
  ask<M extends Exclude<keyof Asks & string, Streams>>(
    method: M,
    params: Asks[M],
  ): Promise<Tells[M]> {
    if (this.connection.peek().kind !== "open") return Promise.reject(new LinkLost());
    const id = this.#nextId();
    const answer = new Promise<unknown>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
    });
    this.#kept.send(this.#writer.request(id, method, params));
    return answer as Promise<Tells[M]>;
  }

  /**
   * Hear of a stream's items, on this connection and those to come; gives back how to stop.
   *
   * @param refused Hears why there is no such stream, or no more; without it that is trouble.
   */
  watch<M extends Streams>(
    method: M,
    params: Asks[M],
    hear: Hear<Tells[M]>,
    refused = (error: CommandError) => this.#options.trouble(error.message),
  ): () => void {
    const watched: Watched = {
      method,
      params,
      hear: hear as Hear<unknown>,
      refused,
      id: null,
      taken: 0,
    };
    this.#watched.add(watched);
    if (this.connection.peek().kind === "open") this.#begin(watched);
    return () => {
      this.#watched.delete(watched);
      if (watched.id !== null) this.#kept.send(this.#writer.cancel(watched.id));
      watched.id = null;
    };
  }

  // ---- the link -----------------------------------------------------------------------------------

  #welcomed({ version, core, control }: Told & { type: "welcome" }): void {
    if (version !== LINE_VERSION) {
      this.#kept.refuse(skew(version, core));
      return;
    }
    this.#kept.stands(control, core);
    for (const each of this.#watched) this.#begin(each);
  }

  #abandon(): void {
    for (const each of this.#watched) each.id = null;
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of waiting) reject(new LinkLost());
  }

  // ---- what comes ---------------------------------------------------------------------------------

  #receive(text: string): void {
    const told = read(text, this.#options.decode);
    if (told === null) this.#options.trouble(`${this.#peer} sent ${UNREADABLE}`);
    else if (told.type === "welcome") this.#welcomed(told);
    else if (told.type === "item") this.#take(told.id, told.value);
    else if (told.type === "result") this.#answered(told.id, told.value);
    else this.#failed(told);
  }

  /** Items that crossed a cancellation on their way are passed over. */
  #take(id: string, item: unknown): void {
    const watched = this.#byId(id);
    if (!watched) return;
    batch(() => watched.hear(item));
    watched.taken += 1;
    if (watched.id === null || watched.taken * 2 < WINDOW) return;
    this.#kept.send(this.#writer.more(id, watched.taken));
    watched.taken = 0;
  }

  #answered(id: string, value: unknown): void {
    const watched = this.#byId(id);
    if (watched) watched.id = null; // the other end is about to close
    this.#waiting.get(id)?.resolve(value);
    this.#waiting.delete(id);
  }

  #failed({ id, code, message }: Told & { type: "failed" }): void {
    if (code === "watch_only") this.#kept.watchOnly();
    const waiting = id === undefined ? undefined : this.#waiting.get(id);
    const watched = id === undefined ? undefined : this.#byId(id);
    if (watched) {
      watched.id = null;
      watched.refused(new CommandError(code, message));
    } else if (waiting && id !== undefined) {
      this.#waiting.delete(id);
      waiting.reject(new CommandError(code, message));
    } else if (this.connection.peek().kind !== "open") {
      this.#kept.refuse(message); // of hello
    } else {
      this.#options.trouble(message);
    }
  }

  #begin(watched: Watched): void {
    watched.id = this.#nextId();
    watched.taken = 0;
    const { id, method, params } = watched;
    this.#kept.send(this.#writer.request(id, method, params, WINDOW));
  }

  get #peer(): string {
    return this.#options.peer ?? "The Core";
  }

  #byId(id: string): Watched | undefined {
    return [...this.#watched].find((each) => each.id === id);
  }

  #nextId(): string {
    this.#ids += 1;
    return `v${this.#ids}`;
  }
}

const UNREADABLE = "what this view can’t read. Reload the page.";

function skew(version: number, core: string): string {
  return version > LINE_VERSION
    ? `${core} speaks a newer version of the protocol than this view. Upgrade agentstepper_nb in the kernel, and run the cell again.`
    : `${core} is too old for this view. Upgrade agentstepper_nb where the Core runs, and start it again.`;
}

// ---- The frame of a line, its asking side: protocol/worker.py has both sides.

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
