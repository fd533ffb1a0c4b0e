/** A view's end of a line: requests, streams with credit, and a link that is kept up. */
import { batch, type ReadonlySignal } from "@preact/signals";
import type { Connection } from "../model/model";
import { decode, type Envelope } from "../protocol/messages";
import { CommandError, LinkLost } from "./core_client";
import { ReconnectingLink } from "./reconnecting_link";
import type { Timers, Transport } from "./transport";

/** Who hears of a stream's items. It may hear the first one again: on each connection anew. */
export type OnItem<T> = (item: T) => void;

interface PendingRequest {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

/** A stream that is watched; on each connection anew. */
interface Subscription {
  readonly method: string;
  readonly params: unknown;
  readonly onItem: OnItem<unknown>;
  /** What becomes of its being refused. */
  readonly onRefused: (error: CommandError) => void;
  /** The stream's id on this connection; null where there is none. */
  id: string | null;
  /** Items that were taken since room was made last. */
  received: number;
}

export interface RpcClientOptions {
  transport: Transport;
  /** The service that is asked. */
  service: string;
  /** The view's name and version, for hello. */
  name: string;
  /** Who is at the other end, as a sentence begins with it. */
  peerName?: string;
  /** Something went wrong that answers no request. */
  onError(message: string): void;
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
export class RpcClient<
  Requests extends object,
  Results extends Record<keyof Requests, unknown>,
  Streams extends keyof Requests & string,
> {
  readonly #options: RpcClientOptions;
  readonly #link: ReconnectingLink;
  readonly #pending = new Map<string, PendingRequest>();
  readonly #subscriptions = new Set<Subscription>();
  #writer: MessageWriter;
  #requestCount = 0;

  constructor(options: RpcClientOptions) {
    this.#options = options;
    this.#writer = new MessageWriter(options.service);
    const handler = {
      begin: () => {
        this.#writer = new MessageWriter(options.service);
      },
      sendHello: () => this.#link.send(this.#writer.hello(options.name)),
      receive: (text: string) => this.#onMessage(text),
      reset: () => this.#rejectPending(),
    };
    this.#link = new ReconnectingLink(options.transport, handler, options.timers);
  }

  get connection(): ReadonlySignal<Connection> {
    return this.#link.connection;
  }

  /** Begin; from here on it keeps itself connected until `close`. */
  start(): void {
    this.#link.open();
  }

  /** Try now instead of later, unless the link stands and its answers come. */
  retry(): void {
    this.#link.retry();
  }

  close(): void {
    this.#link.close();
  }

  /** Ask, and wait for the answer. Rejects with CommandError or LinkLost. */
  request<M extends Exclude<keyof Requests & string, Streams>>(
    method: M,
    params: Requests[M],
  ): Promise<Results[M]> {
    if (this.connection.peek().kind !== "open") return Promise.reject(new LinkLost());
    const id = this.#nextId();
    const answer = new Promise<unknown>((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
    });
    this.#link.send(this.#writer.request(id, method, params));
    return answer as Promise<Results[M]>;
  }

  /**
   * Hear of a stream's items, on this connection and those to come; gives back how to stop.
   *
   * @param onRefused Hears why there is no such stream, or no more; without it that is trouble.
   */
  subscribe<M extends Streams>(
    method: M,
    params: Requests[M],
    onItem: OnItem<Results[M]>,
    onRefused = (error: CommandError) => this.#options.onError(error.message),
  ): () => void {
    const subscription: Subscription = {
      method,
      params,
      onItem: onItem as OnItem<unknown>,
      onRefused,
      id: null,
      received: 0,
    };
    this.#subscriptions.add(subscription);
    if (this.connection.peek().kind === "open") this.#openStream(subscription);
    return () => {
      this.#subscriptions.delete(subscription);
      if (subscription.id !== null) this.#link.send(this.#writer.cancel(subscription.id), false);
      subscription.id = null;
    };
  }

  // ---- the link -----------------------------------------------------------------------------------

  #onWelcome({ version, core, control }: ServerMessage & { type: "welcome" }): void {
    if (version !== RPC_VERSION) {
      this.#link.refuse(versionMismatch(version, core));
      return;
    }
    this.#link.confirmOpen(control, core);
    for (const each of this.#subscriptions) this.#openStream(each);
  }

  #rejectPending(): void {
    for (const each of this.#subscriptions) each.id = null;
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    for (const { reject } of pending) reject(new LinkLost());
  }

  // ---- what comes ---------------------------------------------------------------------------------

  #onMessage(text: string): void {
    const message = parseMessage(text, this.#options.decode);
    if (message === null) this.#options.onError(`${this.#peerName} sent ${UNREADABLE}`);
    else if (message.type === "welcome") this.#onWelcome(message);
    else if (message.type === "item") this.#onItem(message.id, message.value);
    else if (message.type === "result") this.#onResult(message.id, message.value);
    else this.#onFailed(message);
  }

  /** Items that crossed a cancellation on their way are passed over. */
  #onItem(id: string, item: unknown): void {
    const subscription = this.#byId(id);
    if (!subscription) return;
    batch(() => subscription.onItem(item));
    subscription.received += 1;
    if (subscription.id === null || subscription.received * 2 < WINDOW) return;
    this.#link.send(this.#writer.grantCredit(id, subscription.received), false);
    subscription.received = 0;
  }

  #onResult(id: string, value: unknown): void {
    const subscription = this.#byId(id);
    if (subscription) subscription.id = null; // the other end is about to close
    this.#pending.get(id)?.resolve(value);
    this.#pending.delete(id);
  }

  #onFailed({ id, code, message }: ServerMessage & { type: "failed" }): void {
    if (code === "watch_only") this.#link.setWatchOnly();
    const pending = id === undefined ? undefined : this.#pending.get(id);
    const subscription = id === undefined ? undefined : this.#byId(id);
    if (subscription) {
      subscription.id = null;
      subscription.onRefused(new CommandError(code, message));
    } else if (pending && id !== undefined) {
      this.#pending.delete(id);
      pending.reject(new CommandError(code, message));
    } else if (this.connection.peek().kind !== "open") {
      this.#link.refuse(message); // of hello
    } else {
      this.#options.onError(message);
    }
  }

  #openStream(subscription: Subscription): void {
    subscription.id = this.#nextId();
    subscription.received = 0;
    const { id, method, params } = subscription;
    this.#link.send(this.#writer.request(id, method, params, WINDOW));
  }

  get #peerName(): string {
    return this.#options.peerName ?? "The Core";
  }

  #byId(id: string): Subscription | undefined {
    return [...this.#subscriptions].find((each) => each.id === id);
  }

  #nextId(): string {
    this.#requestCount += 1;
    return `v${this.#requestCount}`;
  }
}

const UNREADABLE = "what this view can’t read. Reload the page.";

function versionMismatch(version: number, core: string): string {
  return version > RPC_VERSION
    ? `${core} speaks a newer version of the protocol than this view. Upgrade agentstepper_nb in the kernel, and run the cell again.`
    : `${core} is too old for this view. Upgrade agentstepper_nb where the Core runs, and start it again.`;
}

// ---- The frame of a line, its asking side: protocol/worker.py has both sides.

export const RPC_VERSION = 1;
/** Items of a stream that may be under way. */
export const WINDOW = 64;

/** What the other end says, as far as who only asks is told it. */
export type ServerMessage =
  | { type: "welcome"; version: number; core: string; control: boolean }
  | { type: "item"; id: string; value: unknown }
  | { type: "result"; id: string; value: unknown }
  | { type: "failed"; id: string | undefined; code: string; message: string };

/** Writes what goes out over one connection, each with its number. */
export class MessageWriter {
  readonly #service: string;
  #sequence = 0;

  /** @param service Whom all is asked of. */
  constructor(service: string) {
    this.#service = service;
  }

  hello(name: string): string {
    const hello = { version: RPC_VERSION, worker: name, pid: 0, services: [] };
    return this.#write("hello", hello);
  }

  /** @param window Items that may come at first; 0 asks for a result alone. */
  request(id: string, method: string, params: unknown, window = 0): string {
    return this.#write("request", { service: this.#service, method, params, window }, id);
  }

  grantCredit(id: string, items: number): string {
    return this.#write("more", { items }, id);
  }

  cancel(id: string): string {
    return this.#write("cancel", {}, id);
  }

  #write(type: string, body: object, id?: string): string {
    this.#sequence += 1;
    return JSON.stringify({ n: this.#sequence, type, ...(id !== undefined && { id }), body });
  }
}

/** How an envelope is taken from its text. */
export type Decode = (text: string) => Envelope | null;

/** A message of the other end, whose body is believed to be what its type says; null where it is none. */
export function parseMessage(text: string, decodeEnvelope: Decode = decode): ServerMessage | null {
  const envelope = decodeEnvelope(text);
  if (!envelope || typeof envelope.body !== "object" || envelope.body === null) return null;
  const { type, id } = envelope;
  if (type !== "welcome" && type !== "failed" && id === undefined) return null;
  if (!MESSAGE_TYPES.has(type)) return null;
  return { ...envelope.body, type, id } as ServerMessage;
}

const MESSAGE_TYPES = new Set(["welcome", "item", "result", "failed"]);
