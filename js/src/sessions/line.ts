/** The view's end of the runtime's line: requests, topics with credit, and a link that is kept up. */
import { batch, type ReadonlySignal, signal } from "@preact/signals";
import { backoff, browserTimers, type Timers } from "../client/backoff";
import { CommandError, LinkLost } from "../client/client";
import type { Closed, Link, Transport } from "../client/transport";
import type { Connection } from "../model/model";
import type { AskRuntime, Notice, RuntimeTells } from "../protocol/runtime.gen";
import { LINE_VERSION, type Method, read, type Told, WINDOW, Writer } from "./frame";

/** Who hears of a topic. It may hear `begin` again: then what it knew is to be asked for anew. */
export type Hear = (notice: Notice) => void;

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/** A topic that is watched; on each connection anew. */
interface Watched {
  readonly topic: string;
  readonly hear: Hear;
  /** The stream's id on this connection; null where there is none. */
  id: string | null;
  /** Items that were taken since room was made last. */
  taken: number;
}

export interface LineOptions {
  transport: Transport;
  /** The view's name and version, for hello. */
  name: string;
  /** Something went wrong that answers no request. */
  trouble(message: string): void;
  timers?: Timers;
}

/** Close codes by which a server says no for good; 4410: the kernel that led there is gone. */
const REFUSALS = new Set([1008, 4401, 4403, 4410]);
/** A connection that stood this long was a good one: the next loss is a first one again. */
const STEADY_MS = 3000;
const TICK_MS = 1000;

export class Line {
  readonly #options: LineOptions;
  readonly #timers: Timers;
  readonly #connection = signal<Connection>({ kind: "connecting" });
  readonly #waiting = new Map<string, Waiting>();
  readonly #watched = new Set<Watched>();
  #writer = new Writer();
  #link: Link | null = null;
  #ids = 0;
  #attempt = 0;
  #openedAt = 0;
  #cancelTimer: (() => void) | null = null;

  constructor(options: LineOptions) {
    this.#options = options;
    this.#timers = options.timers ?? browserTimers;
  }

  get connection(): ReadonlySignal<Connection> {
    return this.#connection;
  }

  /** Begin; from here on it keeps itself connected until `close`. */
  start(): void {
    this.#open();
  }

  /** Try now instead of later, unless the link stands and its answers come. */
  retry(): void {
    const now = this.#connection.peek();
    if (now.kind !== "lost" && now.kind !== "refused" && !now.stalled) return;
    this.#attempt = 0;
    this.#open();
  }

  close(): void {
    this.#stopTimer();
    this.#drop();
  }

  /** Ask, and wait for the answer. Rejects with CommandError or LinkLost. */
  ask<M extends Method>(method: M, params: AskRuntime[M]): Promise<RuntimeTells[M]> {
    if (this.#connection.peek().kind !== "open") return Promise.reject(new LinkLost());
    const id = this.#nextId();
    const answer = new Promise<unknown>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
    });
    this.#link?.send(this.#writer.ask(id, method, params));
    return answer as Promise<RuntimeTells[M]>;
  }

  /** Hear of a topic, on this connection and those to come; gives back how to stop. */
  watch(topic: string, hear: Hear): () => void {
    const watched: Watched = { topic, hear, id: null, taken: 0 };
    this.#watched.add(watched);
    if (this.#connection.peek().kind === "open") this.#begin(watched);
    return () => {
      this.#watched.delete(watched);
      if (watched.id !== null) this.#link?.send(this.#writer.cancel(watched.id));
      watched.id = null;
    };
  }

  // ---- the link -----------------------------------------------------------------------------------

  #open(): void {
    this.#stopTimer();
    this.#drop();
    if (this.#connection.peek().kind === "lost") this.#setLost(0);
    else this.#connection.value = { kind: "connecting" };
    this.#writer = new Writer();
    this.#link = this.#options.transport.open({
      opened: () => this.#link?.send(this.#writer.hello(this.#options.name)),
      message: (text) => this.#receive(text),
      stalled: (why) => this.#stall(why),
      closed: (why) => void this.#closed(why),
    });
  }

  #welcomed({ version, core, control }: Told & { type: "welcome" }): void {
    if (version !== LINE_VERSION) {
      this.#refuse(skew(version, core));
      return;
    }
    this.#openedAt = this.#timers.now();
    this.#connection.value = { kind: "open", control, core };
    for (const each of this.#watched) this.#begin(each);
  }

  async #closed(why: Closed): Promise<void> {
    this.#link = null;
    this.#abandon();
    if (this.#connection.peek().kind === "refused") return;
    if (REFUSALS.has(why.code)) {
      this.#refuse(why.reason || "The server refused the connection.");
      return;
    }
    const steady = this.#openedAt > 0 && this.#timers.now() - this.#openedAt >= STEADY_MS;
    this.#openedAt = 0;
    this.#attempt = steady ? 1 : this.#attempt + 1;
    this.#countDown(backoff(this.#attempt, this.#timers.random()));
    if (!why.opened) await this.#explain();
  }

  async #explain(): Promise<void> {
    const reason = await this.#options.transport.explain?.(this.#attempt);
    // A later attempt may have gone well meanwhile.
    if (reason && this.#connection.peek().kind === "lost") this.#refuse(reason);
  }

  /** Wait, saying each second how long still. */
  #countDown(ms: number): void {
    this.#setLost(ms);
    const step = ms % TICK_MS || Math.min(ms, TICK_MS);
    this.#cancelTimer = this.#timers.after(step, () => {
      if (ms - step > 0) this.#countDown(ms - step);
      else this.#open();
    });
  }

  #setLost(retryInMs: number): void {
    this.#connection.value = { kind: "lost", attempt: this.#attempt, retryInMs };
  }

  /** Say why answers stay away, or no longer. */
  #stall(why: string | null): void {
    const now = this.#connection.peek();
    if (now.kind === "lost" || now.kind === "refused") return;
    const { stalled: _, ...rest } = now;
    this.#connection.value = why === null ? rest : { ...rest, stalled: why };
  }

  #refuse(message: string): void {
    this.#stopTimer();
    this.#connection.value = { kind: "refused", message };
    this.#drop();
  }

  /** Let go of the link without hearing of its end. */
  #drop(): void {
    this.#link?.close();
    this.#link = null;
    this.#abandon();
  }

  #abandon(): void {
    for (const each of this.#watched) each.id = null;
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of waiting) reject(new LinkLost());
  }

  #stopTimer(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
  }

  // ---- what comes ---------------------------------------------------------------------------------

  #receive(text: string): void {
    const told = read(text);
    if (told === null)
      this.#options.trouble("The Core sent what this view can’t read. Reload the page.");
    else if (told.type === "welcome") this.#welcomed(told);
    else if (told.type === "item") this.#take(told.id, told.value);
    else if (told.type === "result") this.#answered(told.id, told.value);
    else this.#failed(told);
  }

  /** Items that crossed a cancellation on their way are passed over. */
  #take(id: string, notice: Notice): void {
    const watched = this.#byId(id);
    if (!watched) return;
    batch(() => watched.hear(notice));
    watched.taken += 1;
    if (watched.id === null || watched.taken * 2 < WINDOW) return;
    this.#link?.send(this.#writer.more(id, watched.taken));
    watched.taken = 0;
  }

  #answered(id: string, value: unknown): void {
    const watched = this.#byId(id);
    if (watched) watched.id = null; // the Core is about to close
    this.#waiting.get(id)?.resolve(value);
    this.#waiting.delete(id);
  }

  #failed({ id, code, message }: Told & { type: "failed" }): void {
    const now = this.#connection.peek();
    if (code === "watch_only" && now.kind === "open")
      this.#connection.value = { ...now, control: false };
    const waiting = id === undefined ? undefined : this.#waiting.get(id);
    const watched = id === undefined ? undefined : this.#byId(id);
    if (watched) watched.id = null;
    if (waiting && id !== undefined) {
      this.#waiting.delete(id);
      waiting.reject(new CommandError(code, message));
    } else if (now.kind !== "open") {
      this.#refuse(message); // of hello
    } else {
      this.#options.trouble(message);
    }
  }

  #begin(watched: Watched): void {
    watched.id = this.#nextId();
    watched.taken = 0;
    this.#link?.send(this.#writer.watch(watched.id, watched.topic));
  }

  #byId(id: string): Watched | undefined {
    return [...this.#watched].find((each) => each.id === id);
  }

  #nextId(): string {
    this.#ids += 1;
    return `v${this.#ids}`;
  }
}

function skew(version: number, core: string): string {
  return version > LINE_VERSION
    ? `${core} speaks a newer version of the protocol than this view. Upgrade agentstepper_nb in the kernel, and run the cell again.`
    : `${core} is too old for this view. Upgrade agentstepper_nb where the Core runs, and start it again.`;
}
