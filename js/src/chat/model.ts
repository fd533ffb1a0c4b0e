/** What the view of a chat knows and does. The conversation lives in the kernel; here is what is looked at. */
import { batch, computed, type ReadonlySignal, signal } from "@preact/signals";
import { type CommandError, LinkLost } from "../client/core_client";
import { newKey } from "../client/idempotent_requests";
import { browserTimers, type Timers, type Transport } from "../client/transport";
import { Inbox, nextFrame, type Schedule } from "../model/inbox";
import { browserStorage, type KeyValueStorage } from "../model/storage";
import type { NumberedChatEvent, UpdateChatSession } from "../protocol/chat.gen";
import { ChatClient, decodeLossless, SERVICE, SessionList } from "./chat_client";
import { Conversation } from "./conversation";
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
const MAX_STORED_CHARS = 100_000;
const key = (session: string) => `chat-draft:${session}`;

export class ChatDrafts {
  readonly #memory: KeyValueStorage;
  readonly #texts = signal<ReadonlyMap<string, string>>(new Map());
  readonly #messageKeys = new Map<string, string>();

  constructor(memory: KeyValueStorage = browserStorage(() => sessionStorage)) {
    this.#memory = memory;
  }

  /** The draft of a session; read in a drawing, it is drawn anew when it changes. */
  get(session: string): string {
    return this.#texts.value.get(session) ?? this.#memory.get(key(session)) ?? "";
  }

  peek(session: string): string {
    return this.#texts.peek().get(session) ?? this.#memory.get(key(session)) ?? "";
  }

  /** The key of the draft as a message: until a draft changes, the message is said once, however often
   * it is sent. */
  messageKey(session: string, agent: string | null): string {
    const message = JSON.stringify([session, agent]);
    const found = this.#messageKeys.get(message) ?? newKey();
    this.#messageKeys.set(message, found);
    return found;
  }

  set(session: string, text: string): void {
    this.#messageKeys.clear();
    this.#texts.value = new Map([...this.#texts.peek(), [session, text]]);
    if (text === "" || text.length > MAX_STORED_CHARS) this.#memory.remove(key(session));
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
  memory?: KeyValueStorage;
}

/** Messages of a page of earlier ones. */
const PAGE = 50;

export class ChatModel implements TranscriptModel {
  readonly client: ChatClient;
  readonly sessions: SessionList;
  readonly drafts: ChatDrafts;
  /** The session that is looked at. */
  readonly session: ReadonlySignal<string>;
  readonly info: ReadonlySignal<ChatSessionInfo | null>;
  readonly messages: ReadonlySignal<readonly ShownMessage[]>;
  readonly hasEarlier: ReadonlySignal<boolean>;
  readonly loadingEarlier = signal(false);
  /** Whether the session that is looked at was deleted. */
  readonly removed: ReadonlySignal<boolean>;
  /** What went wrong, until it is dismissed or something else is asked. */
  readonly error = signal<string | null>(null);
  /** Whom the next message is for; null: the default agent. */
  readonly recipient = signal<string | null>(null);
  /** What was asked for and isn't answered yet. */
  readonly sending = signal(false);
  readonly sent = signal(0);
  readonly stopping = signal(false);
  /** Why nothing can be changed from here now; null where it can. */
  readonly readOnlyReason = computed(() => {
    const now = this.client.connection.value;
    if (now.kind !== "open") return "Not connected to the kernel";
    return now.control ? null : "This login may watch the chat, not take part";
  });
  readonly #inbox: Inbox<NumberedChatEvent>;
  readonly #memory: KeyValueStorage;
  /** The session that the view was made for. */
  readonly #initialSession: string;
  readonly #key: string;
  readonly #conversation;
  /** How often another session was asked for: only the last one is shown. */
  #showCount = 0;
  #unsubscribe = () => {};

  constructor(options: ChatOptions) {
    const { transport, name, session, timers = browserTimers } = options;
    this.#inbox = new Inbox(options.frames ?? nextFrame, (events) => this.#apply(events));
    this.#memory = options.memory ?? browserStorage(() => sessionStorage);
    this.#initialSession = session;
    this.#key = `chat-session:${session}`;
    this.drafts = new ChatDrafts(this.#memory);
    this.client = new ChatClient({
      transport,
      service: SERVICE,
      name,
      timers,
      peerName: "The kernel",
      onError: (message) => this.fail(message),
      decode: decodeLossless,
    });
    this.sessions = new SessionList(this.client);
    this.#conversation = signal(new Conversation(this.#memory.get(this.#key) ?? session));
    this.session = computed(() => this.#conversation.value.id);
    this.info = computed(() => this.#conversation.value.info.value);
    this.messages = computed(() => this.#conversation.value.messages.value);
    this.hasEarlier = computed(() => this.#conversation.value.hasEarlier.value);
    this.removed = computed(() => this.#conversation.value.removed.value);
  }

  start(): void {
    this.sessions.watch();
    this.#subscribe();
    this.client.start();
  }

  close(): void {
    this.#close();
    this.sessions.close();
    this.client.close();
  }

  fail(message: string): void {
    this.error.value = message;
  }

  // ---- which session is looked at -------------------------------------------------------------------

  /** Look at another session; whether it is shown. One that is only kept is opened. */
  async openSession(id: string): Promise<boolean> {
    const count = ++this.#showCount;
    if (id === this.session.peek() && !this.removed.peek()) return true;
    if (this.sessions.find(id)?.live === false && !(await this.sessions.open(id))) return false;
    return this.#showIfWanted(id, count);
  }

  /** Begin another conversation, and look at it; whether it is shown. */
  async createSession(): Promise<boolean> {
    const count = ++this.#showCount;
    const created = await this.sessions.create();
    return created !== null && this.#showIfWanted(created, count);
  }

  /** Show a session, unless the person asked for another one meanwhile. */
  #showIfWanted(id: string, count: number): boolean {
    if (count !== this.#showCount) return false;
    this.#show(id);
    return true;
  }

  #show(id: string): void {
    this.#close();
    batch(() => {
      this.#conversation.value = new Conversation(id);
      this.error.value = null;
      this.recipient.value = null;
      this.stopping.value = false;
      this.loadingEarlier.value = false;
    });
    this.#memory.set(this.#key, id);
    this.#subscribe();
  }

  // ---- what is asked ---------------------------------------------------------------------------------

  /** Say what is written; true where it was taken. What was refused stays written. */
  async send(): Promise<boolean> {
    const session = this.session.peek();
    const content = this.drafts.peek(session);
    if (this.sending.peek() || content.trim() === "") return false;
    this.sending.value = true;
    const agent_name = this.recipient.peek();
    const accepted = await this.#run(() =>
      this.client.request("send", {
        session,
        content,
        ...(agent_name !== null && { agent_name }),
        key: this.drafts.messageKey(session, agent_name),
      }),
    );
    if (accepted && this.drafts.peek(session) === content) this.drafts.set(session, "");
    if (accepted) this.sent.value += 1;
    this.sending.value = false;
    return accepted;
  }

  /** End the turn that is under way. */
  async stop(): Promise<void> {
    if (this.stopping.peek()) return;
    this.stopping.value = true;
    const session = this.session.peek();
    await this.#run(() => this.client.request("stop", { session }));
    if (this.session.peek() === session) this.stopping.value = false;
  }

  set(change: Omit<UpdateChatSession, "session">): Promise<boolean> {
    const session = this.session.peek();
    return this.#run(() => this.client.request("set", { session, ...change }));
  }

  async choose(message: string, choice: string): Promise<string | null> {
    try {
      await this.client.request("choose", { session: this.session.peek(), message, choice });
      return null;
    } catch (error) {
      return (error as Error).message;
    }
  }

  loadImage(message: string): Promise<ChatImage> {
    return this.client.request("picture", { session: this.session.peek(), message });
  }

  loadSource(message: string): Promise<ChatSourceText> {
    return this.client.request("source", { session: this.session.peek(), message });
  }

  async loadEarlier(): Promise<void> {
    const conversation = this.#conversation.peek();
    const [first] = conversation.messages.peek();
    if (!first || this.loadingEarlier.peek()) return;
    this.loadingEarlier.value = true;
    await this.#run(async () => {
      const request = { session: conversation.id, before: first.id, limit: PAGE };
      const { messages, more } = await this.client.request("earlier", request);
      // Another page, or a new beginning, may have come meanwhile.
      if (conversation.messages.peek()[0]?.id === first.id) conversation.prepend(messages, more);
    });
    if (this.#conversation.peek() === conversation) this.loadingEarlier.value = false;
  }

  async #run(act: () => Promise<unknown>): Promise<boolean> {
    this.error.value = null;
    try {
      await act();
      return true;
    } catch (error) {
      this.fail((error as Error).message);
      return false;
    }
  }

  // ---- what is told ----------------------------------------------------------------------------------

  #subscribe(): void {
    const { id: session } = this.#conversation.peek();
    this.#unsubscribe = this.client.subscribe(
      "watch",
      { session },
      (events) => this.#inbox.add(events),
      (error) => this.#onRefused(error),
    );
  }

  #close(): void {
    this.#inbox.forget();
    this.#unsubscribe();
  }

  #apply(events: readonly NumberedChatEvent[]): void {
    if (!this.#conversation.peek().applyEvents(events)) this.#resubscribe();
  }

  #resubscribe(): void {
    this.#close();
    this.#subscribe();
  }

  /** The session can't be watched: it is only kept, or gone. */
  async #onRefused(error: CommandError): Promise<void> {
    if (error.code !== "unknown_session") {
      this.fail(error.message);
      return;
    }
    const conversation = this.#conversation.peek();
    const { id: session } = conversation;
    const opened = await this.client.request("open", { session }).then(
      () => true,
      (why: Error) => (why instanceof LinkLost ? null : false),
    );
    if (this.#conversation.peek() !== conversation || opened === null) return; // it is watched anew then
    if (opened) this.#resubscribe();
    else if (session !== this.#initialSession) this.#show(this.#initialSession);
    else conversation.removed.value = true;
  }
}
