/** What the view of a chat knows and does. The conversation lives in the kernel; here is what is looked at. */
import { batch, computed, type ReadonlySignal, signal } from "@preact/signals";
import { type CommandError, LinkLost } from "../client/client";
import { browserTimers, type Timers, type Transport } from "../client/transport";
import { Inbox, nextFrame, type Schedule } from "../model/inbox";
import { browserMemory, type Memory } from "../model/storage";
import type { NumberedChatEvent, UpdateChatSession } from "../protocol/chat.gen";
import { Conversation } from "./conversation";
import { ChatLine, decodeExactly, SERVICE, Sessions } from "./line";
import type {
  ChatImage,
  ChatSessionInfo,
  ChatSourceText,
  ShownMessage,
  TranscriptModel,
} from "./types";

// ---- What is being written, by session: it outlives a drawing anew, a look elsewhere, and a
// reload.

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

interface ChatOptions {
  transport: Transport;
  /** The view's name and version. */
  name: string;
  /** The session to begin with. */
  session: string;
  timers?: Timers;
  frames?: Schedule;
  /** What lasts as long as the tab. */
  memory?: Memory;
}

/** Messages of a page of earlier ones. */
const PAGE = 50;

/** What becomes of a message whose answer never came. */
const UNSURE =
  "The connection was lost before the answer came. Look whether your message stands above before you " +
  "send it again.";

export class ChatModel implements TranscriptModel {
  readonly line: ChatLine;
  readonly sessions: Sessions;
  readonly drafts: Drafts;
  /** The session that is looked at. */
  readonly session: ReadonlySignal<string>;
  readonly info: ReadonlySignal<ChatSessionInfo | null>;
  readonly messages: ReadonlySignal<readonly ShownMessage[]>;
  readonly hasEarlier: ReadonlySignal<boolean>;
  readonly loadingEarlier = signal(false);
  /** Whether the session that is looked at was deleted. */
  readonly removed: ReadonlySignal<boolean>;
  /** What went wrong, until it is dismissed or something else is asked. */
  readonly news = signal<string | null>(null);
  /** Whom the next message is for; null: the default agent. */
  readonly to = signal<string | null>(null);
  /** What was asked for and isn't answered yet. */
  readonly sending = signal(false);
  readonly sent = signal(0);
  readonly stopping = signal(false);
  /** Why nothing can be changed from here now; null where it can. */
  readonly barred = computed(() => {
    const now = this.line.connection.value;
    if (now.kind !== "open") return "Not connected to the kernel";
    return now.control ? null : "You may watch this chat, not take part";
  });
  readonly #inbox: Inbox<NumberedChatEvent>;
  readonly #memory: Memory;
  /** The session that the view was made for. */
  readonly #first: string;
  readonly #key: string;
  readonly #shown;
  #leave = () => {};

  constructor(options: ChatOptions) {
    const { transport, name, session, timers = browserTimers } = options;
    this.#inbox = new Inbox(options.frames ?? nextFrame, (told) => this.#takeIn(told));
    this.#memory = options.memory ?? browserMemory(() => sessionStorage);
    this.#first = session;
    this.#key = `chat-session:${session}`;
    this.drafts = new Drafts(this.#memory);
    this.line = new ChatLine({
      transport,
      service: SERVICE,
      name,
      timers,
      peer: "The kernel",
      trouble: (message) => this.fail(message),
      decode: decodeExactly,
    });
    this.sessions = new Sessions(this.line);
    this.#shown = signal(new Conversation(this.#memory.get(this.#key) ?? session));
    this.session = computed(() => this.#shown.value.id);
    this.info = computed(() => this.#shown.value.info.value);
    this.messages = computed(() => this.#shown.value.messages.value);
    this.hasEarlier = computed(() => this.#shown.value.hasEarlier.value);
    this.removed = computed(() => this.#shown.value.removed.value);
  }

  start(): void {
    this.sessions.watch();
    this.#watch();
    this.line.start();
  }

  close(): void {
    this.#forget();
    this.sessions.leave();
    this.line.close();
  }

  fail(message: string): void {
    this.news.value = message;
  }

  // ---- which session is looked at -------------------------------------------------------------------

  /** Look at another session. One that is only kept is opened. */
  async look(id: string): Promise<boolean> {
    if (id === this.session.peek() && !this.removed.peek()) return true;
    if (this.sessions.find(id)?.live === false && !(await this.sessions.open(id))) return false;
    this.#turnTo(id);
    return true;
  }

  /** Begin another conversation, and look at it. */
  async begin(): Promise<boolean> {
    const made = await this.sessions.create();
    if (made !== null) this.#turnTo(made);
    return made !== null;
  }

  #turnTo(id: string): void {
    this.#forget();
    batch(() => {
      this.#shown.value = new Conversation(id);
      this.news.value = null;
      this.to.value = null;
      this.stopping.value = false;
      this.loadingEarlier.value = false;
    });
    this.#memory.set(this.#key, id);
    this.#watch();
  }

  // ---- what is asked ---------------------------------------------------------------------------------

  /** Say what is written; true where it was taken. What was refused stays written. */
  async send(): Promise<boolean> {
    const session = this.session.peek();
    const content = this.drafts.peek(session);
    if (this.sending.peek() || content.trim() === "") return false;
    this.sending.value = true;
    const agent_name = this.to.peek();
    const taken = await this.#attempt(
      () => this.line.ask("send", { session, content, ...(agent_name !== null && { agent_name }) }),
      UNSURE,
    );
    if (taken && this.drafts.peek(session) === content) this.drafts.set(session, "");
    if (taken) this.sent.value += 1;
    this.sending.value = false;
    return taken;
  }

  /** End the turn that is under way. */
  async stop(): Promise<void> {
    if (this.stopping.peek()) return;
    this.stopping.value = true;
    const session = this.session.peek();
    await this.#attempt(() => this.line.ask("stop", { session }));
    if (this.session.peek() === session) this.stopping.value = false;
  }

  set(change: Omit<UpdateChatSession, "session">): Promise<boolean> {
    const session = this.session.peek();
    return this.#attempt(() => this.line.ask("set", { session, ...change }));
  }

  async choose(message: string, choice: string): Promise<string | null> {
    try {
      await this.line.ask("choose", { session: this.session.peek(), message, choice });
      return null;
    } catch (error) {
      return (error as Error).message;
    }
  }

  picture(message: string): Promise<ChatImage> {
    return this.line.ask("picture", { session: this.session.peek(), message });
  }

  source(message: string): Promise<ChatSourceText> {
    return this.line.ask("source", { session: this.session.peek(), message });
  }

  async earlier(): Promise<void> {
    const conversation = this.#shown.peek();
    const [first] = conversation.messages.peek();
    if (!first || this.loadingEarlier.peek()) return;
    this.loadingEarlier.value = true;
    await this.#attempt(async () => {
      const asked = { session: conversation.id, before: first.id, limit: PAGE };
      const { messages, more } = await this.line.ask("earlier", asked);
      // Another page, or a new beginning, may have come meanwhile.
      if (conversation.messages.peek()[0]?.id === first.id) conversation.prepend(messages, more);
    });
    if (this.#shown.peek() === conversation) this.loadingEarlier.value = false;
  }

  async #attempt(act: () => Promise<unknown>, lost?: string): Promise<boolean> {
    this.news.value = null;
    try {
      await act();
      return true;
    } catch (error) {
      this.fail(error instanceof LinkLost && lost !== undefined ? lost : (error as Error).message);
      return false;
    }
  }

  // ---- what is told ----------------------------------------------------------------------------------

  #watch(): void {
    const { id: session } = this.#shown.peek();
    this.#leave = this.line.watch(
      "watch",
      { session },
      (told) => this.#inbox.put(told),
      (error) => this.#refused(error),
    );
  }

  #forget(): void {
    this.#inbox.forget();
    this.#leave();
  }

  #takeIn(told: readonly NumberedChatEvent[]): void {
    if (!this.#shown.peek().take(told)) this.#rewatch();
  }

  #rewatch(): void {
    this.#forget();
    this.#watch();
  }

  /** The session can't be watched: it is only kept, or gone. */
  async #refused(error: CommandError): Promise<void> {
    if (error.code !== "unknown_session") {
      this.fail(error.message);
      return;
    }
    const conversation = this.#shown.peek();
    const { id: session } = conversation;
    const opened = await this.line.ask("open", { session }).then(
      () => true,
      (why: Error) => (why instanceof LinkLost ? null : false),
    );
    if (this.#shown.peek() !== conversation || opened === null) return; // it is watched anew then
    if (opened) this.#rewatch();
    else if (session !== this.#first) this.#turnTo(this.#first);
    else conversation.removed.value = true;
  }
}
