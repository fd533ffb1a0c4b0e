/** The comm transport: through the kernel, as custom messages of a widget. */
import {
  browserTimers,
  type CloseInfo,
  type Link,
  type LinkEvents,
  type Timers,
  type Transport,
} from "./transport";

/** A widget's model, as far as it carries messages. */
export interface CommModel {
  send(content: unknown): void;
  on(event: string, callback: (...listener: never[]) => void): void;
  off(event: string, callback: (...listener: never[]) => void): void;
}

type ToKernel = { op: "open" } | { op: "text"; text: string; more?: true } | { op: "close" };
type FromKernel =
  | { link: string; op: "texts"; texts: readonly string[] }
  | { link: string; op: "closed"; code: number; reason: string };

/** Characters in one message: the Jupyter server drops the browser's connection above 10 MB. */
const PART = 512 * 1024;
/** How long an answer may stay away before the person is told why it may. */
const PATIENCE_MS = 5000;
/**
 * When a link that wasn't answered is opened once more. JupyterLab asks for a subshell when it sees a
 * comm, and what is sent before it has one waits behind the cell that shows the view.
 */
const RETRY_MS = [250, 750, 2000];

/** Nobody is there any more: the Core ended with its kernel. */
const GONE = 4410;
/** Some of the kernel's messages never came: the Jupyter server drops them while a cell prints a lot. */
const GAP = 4000;

const BUSY =
  "The kernel doesn’t answer. While it is busy with a cell it may not hear this view, which goes on by " +
  "itself when the cell ends. If the kernel was restarted, run the cell again.";
const ENDED =
  "The kernel was restarted or has ended, and the runs were in its memory. Run the cell again.";
const MISSED = "Some messages of the kernel were lost.";

/** What ipywidgets tells of a comm's end: it was closed, or its kernel is another one now. */
const ENDS = ["comm:close", "comm_live_update"] as const;

/**
 * The Core in a kernel, by the model of a widget that lives there.
 *
 * @param model Any number of views share it: each of their links has a name of its own.
 * @param ended What a person is told where the kernel was restarted or has ended.
 */
export function commTransport(
  model: CommModel,
  timers: Timers = browserTimers,
  ended = ENDED,
): Transport {
  return { open: (events) => new CommLink(model, events, timers, ended) };
}

class CommLink implements Link {
  readonly #model: CommModel;
  readonly #events: LinkEvents;
  readonly #timers: Timers;
  readonly #endedReason: string;
  /** The link that was answered; null until one was. */
  #name: string | null = null;
  /** Links that were opened and have said nothing yet: the first to answer is the one. */
  readonly #openingLinks = new Set<string>();
  /** What was sent while none had answered. */
  #unsent: string[] = [];
  /** How many texts came. */
  #receivedCount = 0;
  #isClosed = false;
  #cancelRetry: (() => void) | null = null;
  #cancelStall: (() => void) | null = null;

  constructor(model: CommModel, events: LinkEvents, timers: Timers, ended: string) {
    this.#model = model;
    this.#events = events;
    this.#timers = timers;
    this.#endedReason = ended;
    model.on("msg:custom", this.#receive);
    for (const end of ENDS) model.on(end, this.#ended);
    // Who opens a link has it in hand before hearing of it.
    queueMicrotask(() => this.#begin());
  }

  send(text: string, isAnswered = true): void {
    if (this.#isClosed) return;
    if (this.#name === null) this.#unsent.push(text);
    for (const name of this.#name === null ? this.#openingLinks : [this.#name])
      this.#sendText(name, text);
    if (isAnswered && !this.#isClosed) this.#startStallTimer();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#detach();
    this.#closeAll();
  }

  #begin(): void {
    if (this.#isClosed) return;
    this.#openLink(0);
    // The kernel says nothing before it is spoken to: that it hears shows in its first answer.
    if (!this.#isClosed) this.#events.opened();
  }

  #openLink(attempt: number): void {
    const name = linkName();
    this.#openingLinks.add(name);
    this.#sendMessage(name, { op: "open" });
    for (const text of this.#unsent) this.#sendText(name, text);
    const wait = RETRY_MS[attempt];
    if (wait === undefined || this.#isClosed) return;
    this.#cancelRetry = this.#timers.after(wait, () => this.#openLink(attempt + 1));
  }

  #sendText(name: string, text: string): void {
    for (let at = 0; !this.#isClosed; ) {
      const end = partEnd(text, at);
      const more = end < text.length;
      this.#sendMessage(name, { op: "text", text: text.slice(at, end), ...(more && { more }) });
      if (!more) return;
      at = end;
    }
  }

  #sendMessage(link: string, message: ToKernel): void {
    try {
      this.#model.send({ link, ...message });
    } catch {
      this.#ended(); // the front end threw the comm away, as after a restart
    }
  }

  #receive = (content: unknown): void => {
    if (!isFromKernel(content) || !this.#isOurs(content)) return;
    this.#clearStallTimer();
    if (content.op === "closed") {
      this.#closeAll(content.link);
      this.#end({ code: content.code, reason: content.reason });
      return;
    }
    for (const text of content.texts) {
      if (this.#isClosed) return;
      this.#deliver(text);
    }
  };

  /** Whether something is for the link that counts: the first to answer. Others are closed then. */
  #isOurs({ link, op }: FromKernel): boolean {
    if (link === this.#name) return true;
    if (!this.#openingLinks.delete(link)) return false;
    if (this.#name === null) {
      this.#name = link;
      this.#unsent = [];
      this.#cancelRetry?.();
      return true;
    }
    if (op === "texts") this.#sendMessage(link, { op: "close" });
    return false;
  }

  #deliver(text: string): void {
    const number = /^\{"n":(\d+)/.exec(text)?.[1];
    this.#receivedCount += 1;
    if (number !== undefined && Number(number) !== this.#receivedCount) {
      this.#closeAll();
      this.#end({ code: GAP, reason: MISSED });
    } else {
      this.#events.message(text);
    }
  }

  #startStallTimer(): void {
    this.#cancelStall ??= this.#timers.after(PATIENCE_MS, () => this.#events.stalled?.(BUSY));
  }

  #clearStallTimer(): void {
    if (this.#cancelStall === null) return;
    this.#cancelStall();
    this.#cancelStall = null;
    this.#events.stalled?.(null);
  }

  #ended = (): void => this.#end({ code: GONE, reason: this.#endedReason });

  #end(why: Omit<CloseInfo, "opened">): void {
    if (this.#isClosed) return;
    this.#detach();
    this.#events.closed({ ...why, opened: this.#receivedCount > 0 });
  }

  #closeAll(but = ""): void {
    for (const name of new Set([...this.#openingLinks, this.#name ?? but])) {
      if (name !== but) this.#sendMessage(name, { op: "close" });
    }
  }

  #detach(): void {
    this.#isClosed = true;
    this.#cancelRetry?.();
    this.#cancelStall?.();
    this.#model.off("msg:custom", this.#receive);
    for (const end of ENDS) this.#model.off(end, this.#ended);
  }
}

/** Where a part that begins at `at` ends: never between the halves of a surrogate pair. */
function partEnd(text: string, at: number): number {
  const end = at + PART;
  if (end >= text.length) return text.length;
  const last = text.charCodeAt(end - 1);
  return last >= 0xd800 && last < 0xdc00 ? end - 1 : end;
}

/** Nobody else's, also not in another browser, which hears all that the kernel says. */
function linkName(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12)); // randomUUID needs https
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function isFromKernel(content: unknown): content is FromKernel {
  if (typeof content !== "object" || content === null || !("op" in content)) return false;
  const { op, texts, code, reason } = content as Record<string, unknown>;
  if (op === "closed") return typeof code === "number" && typeof reason === "string";
  return op === "texts" && Array.isArray(texts) && texts.every((text) => typeof text === "string");
}
