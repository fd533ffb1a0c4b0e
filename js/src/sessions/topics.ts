/** The line to the Core's runtime, and what is followed on it: one session's steps, one conversation. */

import { batch, signal } from "@preact/signals";
import { type CommandError, LinkLost } from "../client/core_client";
import { RpcClient } from "../client/rpc_client";
import type {
  AgentStep,
  ConversationMessage,
  Participant,
  RuntimeRequestTypes,
  RuntimeResultTypes,
  TopicEvent,
} from "../protocol/runtime.gen";

/** Asks the runtime, and hears of its topics: each begins with a notice `begin`, on each connection. */
export class RuntimeClient extends RpcClient<RuntimeRequestTypes, RuntimeResultTypes, "watch"> {}

/** The runtime's service, by its name on a line. */
export const RUNTIME_SERVICE = "runtime";

// ---- What is followed beside the list: one session's steps, one conversation.

/** Iterations that are shown: what is older is asked for by programs. */
export const SHOWN_ITERATIONS = 50;

interface TopicOptions {
  client: RuntimeClient;
  /** What the topic tells of the session or the conversation itself. */
  onNotice(notice: TopicEvent): void;
  onError(error: Error): void;
}

/** One thing that is looked at, by its topic. */
abstract class Topic {
  readonly id = signal<string | null>(null);
  /** Whether what was told before is on its way. */
  readonly isLoading = signal(false);
  protected readonly client: RuntimeClient;
  readonly #options: TopicOptions;
  #unsubscribe = () => {};

  constructor(options: TopicOptions) {
    this.#options = options;
    this.client = options.client;
  }

  /** Look at another one; null: at none. */
  follow(id: string | null): void {
    if (id === this.id.peek()) return;
    this.close();
    batch(() => {
      this.id.value = id;
      this.isLoading.value = id !== null;
      this.clear();
    });
    if (id === null) return;
    this.#unsubscribe = this.client.subscribe(
      "watch",
      { topic: `${this.kind}:${id}` },
      (notice) => {
        this.#options.onNotice(notice);
        this.apply(notice);
        if (notice.event === "begin") void this.fetch(id, notice);
      },
      (error) => this.#onRefused(error),
    );
  }

  close(): void {
    this.#unsubscribe();
    this.#unsubscribe = () => {};
  }

  /** There is no such thing to look at, or no more. */
  #onRefused(error: CommandError): void {
    this.follow(null);
    this.#options.onError(error);
  }

  /** What was told before, or while nobody heard. */
  protected async fetch(id: string, notice?: TopicEvent): Promise<void> {
    try {
      const apply = await this.load(id, notice);
      if (this.id.peek() === id) batch(apply);
    } catch (error) {
      if (error instanceof LinkLost) return; // it begins again, and the header says it
      this.#options.onError(error as Error);
    }
    if (this.id.peek() === id) this.isLoading.value = false;
  }

  /** What its topics begin with. */
  protected abstract readonly kind: string;
  /** Forget what was told of another one. */
  protected abstract clear(): void;
  /** Take in what is told. */
  protected abstract apply(notice: TopicEvent): void;
  /** Ask for what was told before; gives back what takes it in. */
  protected abstract load(id: string, notice?: TopicEvent): Promise<() => void>;
}

/** The session that is looked at. */
export class SessionTopic extends Topic {
  /** The newest steps, oldest first. */
  readonly steps = signal<readonly AgentStep[]>([]);
  protected readonly kind = "session";

  protected clear(): void {
    this.steps.value = [];
  }

  protected apply({ steps }: TopicEvent): void {
    this.#addSteps(steps);
  }

  protected async load(session_id: string, notice?: TopicEvent): Promise<() => void> {
    const min_iteration = Math.max(0, (notice?.states[0]?.iteration ?? 0) - SHOWN_ITERATIONS);
    const request = { session_id, min_iteration, limit: 1000 };
    const { steps } = await this.client.request("steps", request);
    return () => this.#addSteps(steps);
  }

  #addSteps(more: readonly AgentStep[]): void {
    if (more.length > 0) this.steps.value = mergeSteps(this.steps.peek(), more);
  }
}

/** Both, each step once, in order, and no more than are shown. */
function mergeSteps(known: readonly AgentStep[], more: readonly AgentStep[]): AgentStep[] {
  const all = new Map(known.map((step) => [stepKey(step), step]));
  for (const step of more) all.set(stepKey(step), step);
  const steps = [...all.values()].sort(
    (a, b) => a.iteration - b.iteration || a.event_seq - b.event_seq,
  );
  const last = steps.at(-1)?.iteration ?? 0;
  return steps.filter(({ iteration }) => iteration > last - SHOWN_ITERATIONS);
}

const stepKey = ({ iteration, event_seq }: AgentStep) => `${iteration} ${event_seq}`;

// ---- The conversation that is looked at: who takes part, and what was said.

/** Messages that are asked for at first, and where a person wants to see earlier ones. */
const INITIAL_MESSAGES = 100;
const MAX_MESSAGES = 1000;

export class ConversationTopic extends Topic {
  readonly participants = signal<readonly Participant[]>([]);
  /** What was said, oldest first. */
  readonly messages = signal<readonly ConversationMessage[]>([]);
  /** Whether there may be messages before the first. */
  readonly hasEarlier = signal(false);
  /** What is being written, by conversation: it waits where somebody looks elsewhere. */
  readonly drafts = signal<ReadonlyMap<string, string>>(new Map());
  protected readonly kind = "conversation";
  #limit = INITIAL_MESSAGES;

  /** Ask for as many messages as are given at once. */
  async showEarlier(): Promise<void> {
    const id = this.id.peek();
    this.#limit = MAX_MESSAGES;
    if (id !== null) await this.fetch(id);
  }

  /** Keep what is being written in a conversation. */
  setDraft(id: string, text: string): void {
    this.drafts.value = new Map([...this.drafts.peek(), [id, text]]);
  }

  protected clear(): void {
    this.#limit = INITIAL_MESSAGES;
    this.participants.value = [];
    this.messages.value = [];
    this.hasEarlier.value = false;
  }

  protected apply({ participants, messages }: TopicEvent): void {
    this.#addParticipants(participants);
    this.#addMessages(messages);
  }

  protected async load(conversation_id: string): Promise<() => void> {
    const limit = this.#limit;
    const [{ participants }, { messages }] = await Promise.all([
      this.client.request("participants", { conversation_id }),
      this.client.request("messages", { conversation_id, last: true, limit }),
    ]);
    return () => {
      this.#addParticipants(participants);
      this.#replaceMessages(messages);
      this.hasEarlier.value = messages.length === limit && limit < MAX_MESSAGES;
    };
  }

  #addParticipants(more: readonly Participant[]): void {
    if (more.length === 0) return;
    const all = new Map(this.participants.peek().map((each) => [each.participant_id, each]));
    for (const each of more) all.set(each.participant_id, each);
    this.participants.value = [...all.values()];
  }

  #addMessages(more: readonly ConversationMessage[]): void {
    const known = new Set(this.messages.peek().map(({ message_id }) => message_id));
    const fresh = more.filter(({ message_id }) => !known.has(message_id));
    if (fresh.length > 0)
      this.messages.value = [...this.messages.peek(), ...fresh].slice(-MAX_MESSAGES);
  }

  /** The newest messages as they are kept; what was heard meanwhile comes after them. */
  #replaceMessages(newest: readonly ConversationMessage[]): void {
    const loadedIds = new Set(newest.map(({ message_id }) => message_id));
    const known = this.messages.peek();
    const from = known.findLastIndex(({ message_id }) => loadedIds.has(message_id)) + 1;
    this.messages.value = [
      ...newest,
      ...known.slice(from).filter((m) => !loadedIds.has(m.message_id)),
    ];
  }
}
