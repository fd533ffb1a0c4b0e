/** One session as it is told: how it stands, and what was said. */
import { batch, computed, type ReadonlySignal, signal } from "@preact/signals";
import type {
  ChatAgentChanged,
  ChatSessionInfo,
  ChatSessionSnapshot,
  Message,
  NumberedChatEvent,
} from "../protocol/chat.gen";
import type { ShownMessage } from "./types";

/** Messages that a view holds. Beyond that the oldest go: they can be fetched again. */
const MOST = 2000;
const LEFT = 1000;

export class Conversation {
  readonly id: string;
  readonly info = signal<ChatSessionInfo | null>(null);
  readonly messages = signal<readonly ShownMessage[]>([]);
  /** Whether it is gone: somebody deleted it. */
  readonly removed = signal(false);
  /** Whether the transcript has messages before the first one. */
  readonly hasEarlier: ReadonlySignal<boolean>;
  /** Whether the first one was said to be the transcript's first. */
  readonly #whole = signal(false);
  /** The number of the next event. */
  #next = 1;

  constructor(id: string) {
    this.id = id;
    this.hasEarlier = computed(() => {
      const [first] = this.messages.value;
      return !!first && !this.#whole.value && (this.info.value?.messages ?? 0) > this.#count();
    });
  }

  /**
   * Take in what was told, as one change.
   *
   * @returns Whether all of it could be: else something is missing, and it is to be watched anew.
   */
  applyEvents(events: readonly NumberedChatEvent[]): boolean {
    return batch(() => {
      const fold = new EventFold(this.info.peek(), this.messages.peek());
      const whole = events.every((each) => this.#follows(each) && this.#apply(fold, each));
      this.info.value = fold.info;
      this.#replace(fold.result());
      return whole;
    });
  }

  /** A page of the transcript, which comes before the first message. */
  prepend(page: readonly Message[], hasMore: boolean): void {
    const known = this.messages.peek();
    const ids = new Set(known.map(({ id }) => id));
    const older = page.filter(({ id }) => !ids.has(id)).map(shown);
    batch(() => {
      this.messages.value = [...older, ...known];
      this.#whole.value = !hasMore;
    });
  }

  #replace(messages: readonly ShownMessage[]): void {
    if (messages.length > MOST) {
      this.messages.value = messages.slice(-LEFT);
      this.#whole.value = false;
    } else {
      this.messages.value = messages;
    }
  }

  #count(): number {
    return this.messages.value.length;
  }

  /** Each connection begins with number 1: numbers tell that nothing was lost in between. */
  #follows({ n, event }: NumberedChatEvent): boolean {
    if (n !== this.#next && !(n === 1 && event.event === "begin")) return false;
    this.#next = n + 1;
    return true;
  }

  #apply(fold: EventFold, { event }: NumberedChatEvent): boolean {
    switch (event.event) {
      case "begin":
        if (fold.begin(event)) this.#whole.value = false;
        return true;
      case "session":
        fold.info = event.session;
        return true;
      case "said":
        fold.addMessage(event.message);
        return true;
      case "delta":
        return fold.appendText(event.message_id, event.text);
      case "agent":
        fold.agent(event);
        return true;
      case "removed":
        this.removed.value = true;
        return true;
      default:
        return true; // of a kernel that tells more than this view knows
    }
  }
}

/** Messages while events are taken in: copied once, however many there are. */
class EventFold {
  info: ChatSessionInfo | null;
  readonly #before: readonly ShownMessage[];
  #messages: ShownMessage[];
  #at: Map<string, number>;
  #changed = false;

  constructor(info: ChatSessionInfo | null, messages: readonly ShownMessage[]) {
    this.info = info;
    this.#before = messages;
    this.#messages = [...messages];
    this.#at = places(messages);
  }

  /** What was fetched before its first message stays. Gives back whether nothing did. */
  begin({ session, messages }: ChatSessionSnapshot): boolean {
    const [first] = messages;
    const known = first ? (this.#at.get(first.id) ?? 0) : 0;
    const kept = this.#messages.slice(0, known);
    this.info = session;
    this.#messages = [...kept, ...messages.map(shown)];
    this.#at = places(this.#messages);
    this.#changed = true;
    return kept.length === 0;
  }

  addMessage(message: Message): void {
    const at = this.#at.get(message.id);
    this.#set(at ?? this.#messages.length, shown(message));
  }

  /** More of a message that is there. */
  appendText(id: string, text: string): boolean {
    const at = this.#at.get(id);
    const message = at === undefined ? undefined : this.#messages[at];
    if (at === undefined || !message) return false;
    this.#set(at, { ...message, content: message.content + text });
    return true;
  }

  agent({ agent }: ChatAgentChanged): void {
    if (!this.info) return;
    const { agents } = this.info;
    const known = agents.some(({ name }) => name === agent.name);
    const others = known
      ? agents.map((each) => (each.name === agent.name ? agent : each))
      : [...agents, agent];
    this.info = { ...this.info, agents: others };
  }

  /** The messages, the very list that there was where nothing has changed. */
  result(): readonly ShownMessage[] {
    const runs = this.info?.state === "STATE_RUNNING";
    this.#messages.forEach((message, at) => {
      const streaming = runs && !message.final;
      if (message.streaming !== streaming) this.#set(at, { ...message, streaming });
    });
    return this.#changed ? this.#messages : this.#before;
  }

  #set(at: number, message: ShownMessage): void {
    this.#messages[at] = message;
    this.#at.set(message.id, at);
    this.#changed = true;
  }
}

function shown(message: Message): ShownMessage {
  return { ...message, streaming: false };
}

function places(messages: readonly ShownMessage[]): Map<string, number> {
  return new Map(messages.map(({ id }, at) => [id, at]));
}
