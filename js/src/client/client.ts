/** The view's end of the wire: commands paired with answers, pushes passed on, the link kept up. */
import { batch, type ReadonlySignal, signal } from "@preact/signals";
import type { Connection } from "../model/model";
import {
  type AnswerTo,
  type CommandName,
  decode,
  type Envelope,
  encode,
  type PushName,
  VERSION,
} from "../protocol/messages";
import type { CoreHello, FromUi, MessageBody, ToUi, UiError } from "../protocol/types.gen";
import { backoff, browserTimers, type Timers } from "./backoff";
import { Receiver } from "./pieces";
import type { Closed, Link, Transport } from "./transport";

/** The Core refused a command. */
export class CommandError extends Error {
  override name = "CommandError";
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** The link ended before the answer came: whether the command was carried out isn't known. */
export class LinkLost extends Error {
  override name = "LinkLost";
  constructor() {
    super("The connection was lost before the answer came.");
  }
}

/** What the client tells its owner. */
export interface Listener {
  /** A connection stands; its snapshot replaces all that was known. */
  hello(snapshot: CoreHello): void;
  push<P extends PushName>(type: P, body: ToUi[P]): void;
  /** Something went wrong that answers no command. */
  trouble(code: string, message: string): void;
}

interface Waiting {
  resolve(body: unknown): void;
  reject(error: Error): void;
}

export interface ClientOptions {
  transport: Transport;
  /** The view's name and version, for hello. */
  name: string;
  listener: Listener;
  timers?: Timers;
}

/** Close codes by which a server says no for good; 4410: it is gone with all it knew. */
const REFUSALS = new Set([1008, 4401, 4403, 4410]);
const TOO_LARGE = 1009;
/** A connection that stood this long was a good one: the next loss is a first one again. */
const STEADY_MS = 3000;
const TICK_MS = 1000;

export class Client {
  readonly #options: ClientOptions;
  readonly #timers: Timers;
  readonly #connection = signal<Connection>({ kind: "connecting" });
  readonly #waiting = new Map<string, Waiting>();
  #link: Link | null = null;
  #receiver = new Receiver();
  #sent = 0;
  #commands = 0;
  #attempt = 0;
  #openedAt = 0;
  #cancelTimer: (() => void) | null = null;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#timers = options.timers ?? browserTimers;
  }

  get connection(): ReadonlySignal<Connection> {
    return this.#connection;
  }

  /** Begin; from here on the client keeps itself connected until `close`. */
  start(): void {
    this.#open();
  }

  /**
   * Send a command and wait for its answer. Rejects with CommandError or LinkLost.
   *
   * @param take Gets the answer before anything that came after it is heard. Who only awaits it may
   *   come later than that: a transport may bring many messages at once.
   */
  request<C extends CommandName>(
    type: C,
    body: FromUi[C],
    take?: (answer: AnswerTo<C>) => void,
  ): Promise<AnswerTo<C>> {
    if (this.#connection.peek().kind !== "open") return Promise.reject(new LinkLost());
    return this.#send(type, body, take);
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

  #send<C extends CommandName>(
    type: C,
    body: FromUi[C],
    take?: (answer: AnswerTo<C>) => void,
  ): Promise<AnswerTo<C>> {
    const id = `c${++this.#commands}`;
    const answer = new Promise<AnswerTo<C>>((resolve, reject) => {
      const taken = (answer: AnswerTo<C>) => {
        take?.(answer);
        resolve(answer);
      };
      this.#waiting.set(id, { resolve: (body) => taken(body as AnswerTo<C>), reject });
    });
    this.#link?.send(encode(++this.#sent, type, id, body));
    return answer;
  }

  #open(): void {
    this.#stopTimer();
    this.#drop();
    if (this.#connection.peek().kind === "lost") this.#setLost(0);
    else this.#connection.value = { kind: "connecting" };
    this.#sent = 0;
    this.#receiver = new Receiver();
    this.#link = this.#options.transport.open({
      opened: () => this.#greet(),
      message: (text) => this.#receive(text),
      stalled: (why) => this.#stall(why),
      closed: (why) => void this.#closed(why),
    });
  }

  #greet(): void {
    const hello = { version: VERSION, client: this.#options.name };
    this.#send("hello", hello, (answer) => this.#greeted(answer)).catch((error: Error) => {
      if (error instanceof CommandError) this.#refuse(error.message);
    });
  }

  #greeted(hello: CoreHello): void {
    if (hello.version !== VERSION) {
      this.#refuse(skew(hello));
      return;
    }
    this.#openedAt = this.#timers.now();
    // That it stands and what it says are one: nobody takes the snapshot of before for the Core's.
    batch(() => {
      this.#connection.value = { kind: "open", control: hello.control, core: hello.core };
      this.#options.listener.hello(hello);
    });
  }

  #receive(text: string): void {
    const envelope = decode(text);
    if (!envelope) {
      this.#options.listener.trouble("malformed", "The Core sent something that isn't a message.");
      return;
    }
    if (envelope.type === "message" && !this.#join(envelope.body as MessageBody)) return;
    const waiting = envelope.id === undefined ? undefined : this.#waiting.get(envelope.id);
    if (waiting && envelope.id !== undefined) {
      this.#waiting.delete(envelope.id);
      settle(waiting, envelope);
    } else {
      this.#pushed(envelope);
    }
  }

  /** Make a content whole that came in pieces; where that can't be done, all is asked for anew. */
  #join(body: MessageBody): boolean {
    if (!body.pieces) return true;
    try {
      body.data = this.#receiver.text(body.pieces);
      body.pieces = null;
      return true;
    } catch {
      this.#link?.close();
      void this.#closed({ code: 0, reason: "", opened: true });
      return false;
    }
  }

  #pushed({ type, body }: Envelope): void {
    const { listener } = this.#options;
    switch (type) {
      case "run":
      case "run_gone":
      case "row":
      case "commit":
      case "commit_changed":
      case "note":
      case "store":
      case "stop":
      case "stop_gone":
      case "prices":
        listener.push(type, body as ToUi[typeof type]);
        break;
      case "error": {
        const { code, message } = body as UiError;
        listener.trouble(code, message);
        break;
      }
      default:
        listener.trouble(
          "unknown_message",
          `The Core is newer: it sent “${type}”. Reload the page.`,
        );
    }
  }

  /** Say why answers stay away, or no longer. */
  #stall(why: string | null): void {
    const now = this.#connection.peek();
    if (now.kind === "lost" && why !== null) {
      this.#connection.value = { kind: "connecting", stalled: why };
    } else if (now.kind === "connecting" || now.kind === "open") {
      const { stalled: _, ...rest } = now;
      this.#connection.value = why === null ? rest : { ...rest, stalled: why };
    }
  }

  async #closed(why: Closed): Promise<void> {
    this.#link = null;
    this.#abandon();
    if (this.#connection.peek().kind === "refused") return;
    if (REFUSALS.has(why.code)) {
      this.#refuse(why.reason || "The server refused the connection.");
      return;
    }
    if (why.code === TOO_LARGE) {
      this.#options.listener.trouble(
        "too_large",
        why.reason || "A message was larger than 64 MiB.",
      );
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
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of waiting) reject(new LinkLost());
  }

  #stopTimer(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
  }
}

function settle(waiting: Waiting, { type, body }: Envelope): void {
  if (type !== "error") {
    waiting.resolve(body);
    return;
  }
  const { code, message } = body as UiError;
  waiting.reject(new CommandError(code, message));
}

function skew({ version, core }: CoreHello): string {
  return version > VERSION
    ? `${core} speaks a newer version of the protocol than this page. Reload the page.`
    : `${core} is too old for this page. Upgrade agentstepper_nb where the Jupyter server runs, and restart it.`;
}
