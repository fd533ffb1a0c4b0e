/** The view's end of the wire: commands paired with answers, pushes passed on, the link kept up. */
import { batch, type ReadonlySignal } from "@preact/signals";
import type { Connection } from "../model/model";
import {
  type AnswerTo,
  type CommandName,
  decode,
  type Envelope,
  encode,
  isPushName,
  type PushName,
  VERSION,
} from "../protocol/messages";
import type {
  CoreHello,
  EncodedContent,
  FromUi,
  MessageBody,
  ToUi,
  UiError,
} from "../protocol/types.gen";
import { ReconnectingLink } from "./reconnecting_link";
import type { CloseInfo, Timers, Transport } from "./transport";

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
  onError(code: string, message: string): void;
}

interface PendingRequest {
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

const CLOSE_TOO_LARGE = 1009;

export class Client {
  readonly #options: ClientOptions;
  readonly #link: ReconnectingLink;
  readonly #pending = new Map<string, PendingRequest>();
  #decoder = new ContentDecoder();
  #sequence = 0;
  #commandCount = 0;

  constructor(options: ClientOptions) {
    this.#options = options;
    const handler = {
      begin: () => this.#onOpening(),
      sendHello: () => this.#sendHello(),
      receive: (text: string) => this.#onMessage(text),
      reset: () => this.#rejectPending(),
      closed: (why: CloseInfo) => this.#onClosed(why),
    };
    this.#link = new ReconnectingLink(options.transport, handler, options.timers);
  }

  get connection(): ReadonlySignal<Connection> {
    return this.#link.connection;
  }

  /** Begin; from here on the client keeps itself connected until `close`. */
  start(): void {
    this.#link.open();
  }

  /**
   * Send a command and wait for its answer. Rejects with CommandError or LinkLost.
   *
   * @param onAnswer Gets the answer before anything that came after it is heard. Who only awaits it may
   *   come later than that: a transport may bring many messages at once.
   */
  request<C extends CommandName>(
    type: C,
    body: FromUi[C],
    onAnswer?: (answer: AnswerTo<C>) => void,
  ): Promise<AnswerTo<C>> {
    if (this.connection.peek().kind !== "open") return Promise.reject(new LinkLost());
    return this.#send(type, body, onAnswer);
  }

  /** Try now instead of later, unless the link stands and its answers come. */
  retry(): void {
    this.#link.retry();
  }

  close(): void {
    this.#link.close();
  }

  #send<C extends CommandName>(
    type: C,
    body: FromUi[C],
    onAnswer?: (answer: AnswerTo<C>) => void,
  ): Promise<AnswerTo<C>> {
    const id = `c${++this.#commandCount}`;
    const answer = new Promise<AnswerTo<C>>((resolve, reject) => {
      const onResult = (answer: AnswerTo<C>) => {
        onAnswer?.(answer);
        resolve(answer);
      };
      this.#pending.set(id, { resolve: (body) => onResult(body as AnswerTo<C>), reject });
    });
    this.#link.send(encode(++this.#sequence, type, id, body));
    return answer;
  }

  #onOpening(): void {
    this.#sequence = 0;
    this.#decoder = new ContentDecoder();
  }

  #sendHello(): void {
    const hello = { version: VERSION, client: this.#options.name };
    this.#send("hello", hello, (answer) => this.#onHello(answer)).catch((error: Error) => {
      if (error instanceof CommandError) this.#link.refuse(error.message);
    });
  }

  #onHello(hello: CoreHello): void {
    if (hello.version !== VERSION) {
      this.#link.refuse(versionMismatch(hello));
      return;
    }
    // That it stands and what it says are one: nobody takes the snapshot of before for the Core's.
    batch(() => {
      this.#link.confirmOpen(hello.control, hello.core);
      this.#options.listener.hello(hello);
    });
  }

  #onMessage(text: string): void {
    const envelope = decode(text);
    if (!envelope) {
      this.#options.listener.onError("malformed", "The Core sent something that isn't a message.");
      return;
    }
    if (envelope.type === "message" && !this.#decodePieces(envelope.body as MessageBody)) return;
    const pending = envelope.id === undefined ? undefined : this.#pending.get(envelope.id);
    if (pending && envelope.id !== undefined) {
      this.#pending.delete(envelope.id);
      settle(pending, envelope);
    } else {
      this.#onPush(envelope);
    }
  }

  /** Make a content whole that came in pieces; where that can't be done, all is asked for anew. */
  #decodePieces(body: MessageBody): boolean {
    if (!body.pieces) return true;
    try {
      body.data = this.#decoder.decode(body.pieces);
      body.pieces = null;
      return true;
    } catch {
      this.#link.reconnect();
      return false;
    }
  }

  #onPush({ type, body }: Envelope): void {
    const { listener } = this.#options;
    if (isPushName(type)) {
      listener.push(type, body as ToUi[PushName]);
    } else if (type === "error") {
      const { code, message } = body as UiError;
      listener.onError(code, message);
    } else {
      listener.onError("unknown_message", `The Core is newer: it sent “${type}”. Reload the page.`);
    }
  }

  #onClosed(why: CloseInfo): void {
    if (why.code !== CLOSE_TOO_LARGE) return;
    const reason = why.reason || "A message was larger than 64 MiB.";
    this.#options.listener.onError("too_large", reason);
  }

  #rejectPending(): void {
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    for (const { reject } of pending) reject(new LinkLost());
  }
}

function settle(pending: PendingRequest, { type, body }: Envelope): void {
  if (type !== "error") {
    pending.resolve(body);
    return;
  }
  const { code, message } = body as UiError;
  pending.reject(new CommandError(code, message));
}

function versionMismatch({ version, core }: CoreHello): string {
  return version > VERSION
    ? `${core} speaks a newer version of the protocol than this page. Reload the page.`
    : `${core} is too old for this page. Upgrade agentstepper_nb where the Jupyter server runs, and restart it.`;
}

// ---- Contents that come as what is new in them: docs/design/0012-pieces.md.

// As in protocol/delta_encoding.py. This side may forget later than the other, never sooner: it weighs a text
// by its UTF-16 units, of which it has no more than bytes.
const MAX_CONTENTS = 256;
const MAX_WEIGHT_BYTES = 16 * 1024 * 1024;
const PIECE_WEIGHT = 64;
const REFERENCE_WEIGHT = 8;

interface Piece {
  readonly number: number;
  readonly text: string;
  /** The last content that it is in; 0: it is forgotten. */
  newest: number;
}

/** The receiving side of one connection. */
export class ContentDecoder {
  readonly #pieces = new Map<number, Piece>();
  readonly #contents = new Map<number, readonly Piece[]>();
  #last = 0;
  #numbered = 0;
  #weight = 0;

  /** The text of an encoded content. Throws where it is made of what isn't known: nor is any that follows. */
  decode({ number, like, keep, then }: EncodedContent): string {
    const before = keep ? (this.#contents.get(like) ?? []) : [];
    if (number !== ++this.#last || keep > before.length) throw unknownContent();
    const content = before.slice(0, keep);
    for (const each of then) content.push(this.#piece(each));
    this.#store(content);
    return content.map(({ text }) => text).join("");
  }

  #piece(each: number | string): Piece {
    if (typeof each === "number") {
      const piece = this.#pieces.get(each);
      if (!piece) throw unknownContent();
      return piece;
    }
    const piece = { number: ++this.#numbered, text: each, newest: 0 };
    this.#pieces.set(piece.number, piece);
    this.#weight += each.length + PIECE_WEIGHT;
    return piece;
  }

  #store(content: readonly Piece[]): void {
    for (const piece of content) piece.newest = this.#last;
    this.#contents.set(this.#last, content);
    this.#weight += REFERENCE_WEIGHT * content.length;
    for (const [number, oldest] of this.#contents) {
      if (this.#contents.size <= MAX_CONTENTS && this.#weight <= MAX_WEIGHT_BYTES) break;
      this.#forget(number, oldest);
    }
  }

  #forget(number: number, content: readonly Piece[]): void {
    this.#contents.delete(number);
    this.#weight -= REFERENCE_WEIGHT * content.length;
    for (const piece of content) {
      if (piece.newest !== number) continue;
      piece.newest = 0;
      this.#pieces.delete(piece.number);
      this.#weight -= piece.text.length + PIECE_WEIGHT;
    }
  }
}

const unknownContent = () => new Error("unknown_content");
