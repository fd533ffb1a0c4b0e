/** The line to the Core's runtime, and what is followed on it: one session's steps, one conversation. */

import { batch, signal } from "@preact/signals";
import { Line } from "../client/line";
import type {
  AgentStep,
  AskRuntime,
  ConversationMessage,
  Participant,
  RuntimeTells,
  TopicEvent,
} from "../protocol/runtime.gen";

/** Asks the runtime, and hears of its topics: each begins with a notice `begin`, on each connection. */
export class RuntimeLine extends Line<AskRuntime, RuntimeTells, "watch"> {}

/** The runtime's service, by its name on a line. */
export const SERVICE = "runtime";

// ---- What is followed beside the list: one session's steps, one conversation.

/** Iterations that are shown: what is older is asked for by programs. */
export const SHOWN = 50;

interface TopicOptions {
  line: RuntimeLine;
  /** What the topic tells of the session or the conversation itself. */
  tell(notice: TopicEvent): void;
  trouble(error: Error): void;
}

/** One thing that is looked at, by its topic. */
abstract class Topic {
  readonly id = signal<string | null>(null);
  /** Whether what was told before is on its way. */
  readonly loading = signal(false);
  protected readonly line: RuntimeLine;
  readonly #options: TopicOptions;
  #leave = () => {};

  constructor(options: TopicOptions) {
    this.#options = options;
    this.line = options.line;
  }

  /** Look at another one; null: at none. */
  follow(id: string | null): void {
    if (id === this.id.peek()) return;
    this.close();
    batch(() => {
      this.id.value = id;
      this.loading.value = id !== null;
      this.clear();
    });
    if (id === null) return;
    this.#leave = this.line.watch("watch", { topic: `${this.kind}:${id}` }, (notice) => {
      this.#options.tell(notice);
      this.take(notice);
      if (notice.event === "begin") void this.fetch(id, notice);
    });
  }

  close(): void {
    this.#leave();
    this.#leave = () => {};
  }

  /** What was told before, or while nobody heard. */
  protected async fetch(id: string, notice?: TopicEvent): Promise<void> {
    try {
      const take = await this.ask(id, notice);
      if (this.id.peek() === id) batch(take);
    } catch (error) {
      this.#options.trouble(error as Error);
    }
    if (this.id.peek() === id) this.loading.value = false;
  }

  /** What its topics begin with. */
  protected abstract readonly kind: string;
  /** Forget what was told of another one. */
  protected abstract clear(): void;
  /** Take in what is told. */
  protected abstract take(notice: TopicEvent): void;
  /** Ask for what was told before; gives back what takes it in. */
  protected abstract ask(id: string, notice?: TopicEvent): Promise<() => void>;
}

/** The session that is looked at. */
export class Followed extends Topic {
  /** The newest steps, oldest first. */
  readonly steps = signal<readonly AgentStep[]>([]);
  protected readonly kind = "session";

  protected clear(): void {
    this.steps.value = [];
  }

  protected take({ steps }: TopicEvent): void {
    this.#add(steps);
  }

  protected async ask(session_id: string, notice?: TopicEvent): Promise<() => void> {
    const min_iteration = Math.max(0, (notice?.states[0]?.iteration ?? 0) - SHOWN);
    const asked = { session_id, min_iteration, limit: 1000 };
    const { steps } = await this.line.ask("steps", asked);
    return () => this.#add(steps);
  }

  #add(more: readonly AgentStep[]): void {
    if (more.length > 0) this.steps.value = newest(this.steps.peek(), more);
  }
}

/** Both, each step once, in order, and no more than are shown. */
function newest(known: readonly AgentStep[], more: readonly AgentStep[]): AgentStep[] {
  const all = new Map(known.map((step) => [place(step), step]));
  for (const step of more) all.set(place(step), step);
  const steps = [...all.values()].sort(
    (a, b) => a.iteration - b.iteration || a.event_seq - b.event_seq,
  );
  const last = steps.at(-1)?.iteration ?? 0;
  return steps.filter(({ iteration }) => iteration > last - SHOWN);
}

const place = ({ iteration, event_seq }: AgentStep) => `${iteration} ${event_seq}`;

// ---- The conversation that is looked at: who takes part, and what was said.

/** Messages that are asked for at first, and where a person wants to see earlier ones. */
const AT_FIRST = 100;
const AT_MOST = 1000;

export class Talk extends Topic {
  readonly participants = signal<readonly Participant[]>([]);
  /** What was said, oldest first. */
  readonly messages = signal<readonly ConversationMessage[]>([]);
  /** Whether there may be messages before the first. */
  readonly earlier = signal(false);
  /** What is being written, by conversation: it waits where somebody looks elsewhere. */
  readonly drafts = signal<ReadonlyMap<string, string>>(new Map());
  protected readonly kind = "conversation";
  #limit = AT_FIRST;

  /** Ask for as many messages as are given at once. */
  async showEarlier(): Promise<void> {
    const id = this.id.peek();
    this.#limit = AT_MOST;
    if (id !== null) await this.fetch(id);
  }

  /** Keep what is being written in a conversation. */
  draft(id: string, text: string): void {
    this.drafts.value = new Map([...this.drafts.peek(), [id, text]]);
  }

  protected clear(): void {
    this.#limit = AT_FIRST;
    this.participants.value = [];
    this.messages.value = [];
    this.earlier.value = false;
  }

  protected take({ participants, messages }: TopicEvent): void {
    this.#join(participants);
    this.#say(messages);
  }

  protected async ask(conversation_id: string): Promise<() => void> {
    const limit = this.#limit;
    const [{ participants }, { messages }] = await Promise.all([
      this.line.ask("participants", { conversation_id }),
      this.line.ask("messages", { conversation_id, last: true, limit }),
    ]);
    return () => {
      this.#join(participants);
      this.#put(messages);
      this.earlier.value = messages.length === limit && limit < AT_MOST;
    };
  }

  #join(more: readonly Participant[]): void {
    if (more.length === 0) return;
    const all = new Map(this.participants.peek().map((each) => [each.participant_id, each]));
    for (const each of more) all.set(each.participant_id, each);
    this.participants.value = [...all.values()];
  }

  #say(more: readonly ConversationMessage[]): void {
    const known = new Set(this.messages.peek().map(({ message_id }) => message_id));
    const fresh = more.filter(({ message_id }) => !known.has(message_id));
    if (fresh.length > 0) this.messages.value = [...this.messages.peek(), ...fresh].slice(-AT_MOST);
  }

  /** The newest messages as they are kept; what was heard meanwhile comes after them. */
  #put(newest: readonly ConversationMessage[]): void {
    const kept = new Set(newest.map(({ message_id }) => message_id));
    const known = this.messages.peek();
    const from = known.findLastIndex(({ message_id }) => kept.has(message_id)) + 1;
    this.messages.value = [...newest, ...known.slice(from).filter((m) => !kept.has(m.message_id))];
  }
}
