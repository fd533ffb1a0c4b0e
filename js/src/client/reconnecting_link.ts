/** A link that is kept up: opened, told of, and opened again where it is lost. */
import { type ReadonlySignal, signal } from "@preact/signals";
import type { Connection } from "../model/model";
import {
  backoff,
  browserTimers,
  type CloseInfo,
  type Link,
  type Timers,
  type Transport,
} from "./transport";

/** What speaks on the link. */
export interface LinkHandler {
  /** Another link is about to open: it begins anew. */
  begin(): void;
  /** It is open: greet, and call `stands` once that is answered. */
  sendHello(): void;
  receive(text: string): void;
  /** It is gone, and with it what was asked on it. */
  reset(): void;
  /** It was closed, and is tried again. */
  closed?(why: CloseInfo): void;
}

/** Close codes by which a server says no for good; 4410: it, or what led there, is gone. */
const REFUSALS = new Set([1008, 4401, 4403, 4410]);
/** A connection that stood this long was a good one: the next loss is a first one again. */
const STABLE_MS = 3000;
const TICK_MS = 1000;

export class ReconnectingLink {
  readonly #transport: Transport;
  readonly #handler: LinkHandler;
  readonly #timers: Timers;
  readonly #connection = signal<Connection>({ kind: "connecting" });
  #link: Link | null = null;
  #attempt = 0;
  #openedAt = 0;
  #cancelTimer: (() => void) | null = null;

  constructor(transport: Transport, handler: LinkHandler, timers: Timers = browserTimers) {
    this.#transport = transport;
    this.#handler = handler;
    this.#timers = timers;
  }

  get connection(): ReadonlySignal<Connection> {
    return this.#connection;
  }

  /** Begin, or begin anew. */
  open(): void {
    this.#stopTimer();
    this.#drop();
    if (this.#connection.peek().kind === "lost") this.#setLost(0);
    else this.#connection.value = { kind: "connecting" };
    this.#handler.begin();
    this.#link = this.#transport.open({
      opened: () => this.#handler.sendHello(),
      message: (text) => this.#handler.receive(text),
      stalled: (why) => this.#setStalled(why),
      closed: (why) => void this.#closed(why),
    });
  }

  /** Try now instead of later, unless the link stands and its answers come. */
  retry(): void {
    const now = this.#connection.peek();
    if (now.kind !== "lost" && now.kind !== "refused" && !now.stalled) return;
    this.#attempt = 0;
    this.open();
  }

  close(): void {
    this.#stopTimer();
    this.#drop();
  }

  send(text: string, isAnswered?: boolean): void {
    this.#link?.send(text, isAnswered);
  }

  /** The greeting was answered. */
  confirmOpen(control: boolean, core: string): void {
    this.#openedAt = this.#timers.now();
    this.#connection.value = { kind: "open", control, core };
  }

  /** It turned out that this login may only watch. */
  setWatchOnly(): void {
    const now = this.#connection.peek();
    if (now.kind === "open") this.#connection.value = { ...now, control: false };
  }

  /** It makes no sense to go on. */
  refuse(message: string): void {
    this.#stopTimer();
    this.#connection.value = { kind: "refused", message };
    this.#drop();
  }

  /** What came can't be used: all is to be asked for anew. */
  reconnect(): void {
    this.#link?.close();
    void this.#closed({ code: 0, reason: "", opened: true });
  }

  async #closed(why: CloseInfo): Promise<void> {
    this.#link = null;
    this.#handler.reset();
    if (this.#connection.peek().kind === "refused") return;
    if (REFUSALS.has(why.code)) {
      this.refuse(why.reason || "The server refused the connection.");
      return;
    }
    this.#handler.closed?.(why);
    const wasStable = this.#openedAt > 0 && this.#timers.now() - this.#openedAt >= STABLE_MS;
    this.#openedAt = 0;
    this.#attempt = wasStable ? 1 : this.#attempt + 1;
    this.#countDown(backoff(this.#attempt, this.#timers.random()));
    if (!why.opened) await this.#explainFailure();
  }

  async #explainFailure(): Promise<void> {
    const reason = await this.#transport.explain?.(this.#attempt);
    // A later attempt may have gone well meanwhile.
    if (reason && this.#connection.peek().kind === "lost") this.refuse(reason);
  }

  /** Wait, saying each second how long still. */
  #countDown(ms: number): void {
    this.#setLost(ms);
    const step = ms % TICK_MS || Math.min(ms, TICK_MS);
    this.#cancelTimer = this.#timers.after(step, () => {
      if (ms - step > 0) this.#countDown(ms - step);
      else this.open();
    });
  }

  #setLost(retryInMs: number): void {
    this.#connection.value = { kind: "lost", attempt: this.#attempt, retryInMs };
  }

  /** Say why answers stay away, or no longer. */
  #setStalled(why: string | null): void {
    const now = this.#connection.peek();
    if (now.kind === "lost" && why !== null) {
      this.#connection.value = { kind: "connecting", stalled: why };
    } else if (now.kind === "connecting" || now.kind === "open") {
      const { stalled: _, ...rest } = now;
      this.#connection.value = why === null ? rest : { ...rest, stalled: why };
    }
  }

  /** Let go of the link without hearing of its end. */
  #drop(): void {
    this.#link?.close();
    this.#link = null;
    this.#handler.reset();
  }

  #stopTimer(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
  }
}
