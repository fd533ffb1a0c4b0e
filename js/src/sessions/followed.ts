/** What is followed beside the list: one session's steps, one conversation. */
import { batch, signal } from "@preact/signals";
import type {
  AgentState,
  AgentStep,
  ConversationMessage,
  Notice,
  Participant,
} from "../protocol/runtime.gen";
import type { RuntimeLine } from "./line";

/** Iterations that are shown: what is older is asked for by programs. */
export const SHOWN = 50;

export interface FollowedOptions {
  line: RuntimeLine;
  /** What a session's topic tells of the session itself. */
  tell(notice: Notice): void;
  trouble(error: Error): void;
}

export class Followed {
  readonly id = signal<string | null>(null);
  /** The newest steps, oldest first. */
  readonly steps = signal<readonly AgentStep[]>([]);
  /** Whether the first of them are on their way. */
  readonly loading = signal(false);
  readonly #options: FollowedOptions;
  #leave = () => {};

  constructor(options: FollowedOptions) {
    this.#options = options;
  }

  /** Look at another session; null: at none. */
  follow(id: string | null): void {
    if (id === this.id.peek()) return;
    this.close();
    this.id.value = id;
    this.steps.value = [];
    this.loading.value = id !== null;
    if (id !== null)
      this.#leave = this.#options.line.watch("watch", { topic: `session:${id}` }, (notice) =>
        this.#hear(id, notice),
      );
  }

  close(): void {
    this.#leave();
    this.#leave = () => {};
  }

  #hear(id: string, notice: Notice): void {
    this.#options.tell(notice);
    this.#add(notice.steps);
    if (notice.event === "begin") void this.#catchUp(id, notice.states[0]);
  }

  /** What was said before, or while nobody heard. */
  async #catchUp(id: string, state: AgentState | undefined): Promise<void> {
    const min_iteration = Math.max(0, (state?.iteration ?? 0) - SHOWN);
    try {
      const { steps } = await this.#options.line.ask("steps", {
        session_id: id,
        min_iteration,
        limit: 1000,
      });
      if (this.id.peek() === id) this.#add(steps);
    } catch (error) {
      this.#options.trouble(error as Error);
    }
    if (this.id.peek() === id) this.loading.value = false;
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

export interface TalkOptions {
  line: RuntimeLine;
  /** What a conversation's topic tells of the conversation itself. */
  tell(notice: Notice): void;
  trouble(error: Error): void;
}

export class Talk {
  readonly id = signal<string | null>(null);
  readonly participants = signal<readonly Participant[]>([]);
  /** What was said, oldest first. */
  readonly messages = signal<readonly ConversationMessage[]>([]);
  readonly loading = signal(false);
  /** Whether there may be messages before the first. */
  readonly earlier = signal(false);
  /** What is being written, by conversation: it waits where somebody looks elsewhere. */
  readonly drafts = signal<ReadonlyMap<string, string>>(new Map());
  readonly #options: TalkOptions;
  #limit = AT_FIRST;
  #leave = () => {};

  constructor(options: TalkOptions) {
    this.#options = options;
  }

  /** Look at another conversation; null: at none. */
  follow(id: string | null): void {
    if (id === this.id.peek()) return;
    this.close();
    this.#limit = AT_FIRST;
    batch(() => {
      this.id.value = id;
      this.participants.value = [];
      this.messages.value = [];
      this.earlier.value = false;
      this.loading.value = id !== null;
    });
    if (id !== null)
      this.#leave = this.#options.line.watch("watch", { topic: `conversation:${id}` }, (notice) =>
        this.#hear(id, notice),
      );
  }

  /** Ask for as many messages as are given at once. */
  async showEarlier(): Promise<void> {
    const id = this.id.peek();
    this.#limit = AT_MOST;
    if (id !== null) await this.#catchUp(id);
  }

  /** Keep what is being written in a conversation. */
  draft(id: string, text: string): void {
    this.drafts.value = new Map([...this.drafts.peek(), [id, text]]);
  }

  close(): void {
    this.#leave();
    this.#leave = () => {};
  }

  #hear(id: string, notice: Notice): void {
    this.#options.tell(notice);
    this.#join(notice.participants);
    this.#say(notice.messages);
    if (notice.event === "begin") void this.#catchUp(id);
  }

  /** Who is there, and what was said before, or while nobody heard. */
  async #catchUp(id: string): Promise<void> {
    const limit = this.#limit;
    try {
      const [{ participants }, { messages }] = await Promise.all([
        this.#options.line.ask("participants", { conversation_id: id }),
        this.#options.line.ask("messages", { conversation_id: id, last: true, limit }),
      ]);
      if (this.id.peek() === id) {
        batch(() => {
          this.#join(participants);
          this.#put(messages);
          this.earlier.value = messages.length === limit && limit < AT_MOST;
        });
      }
    } catch (error) {
      this.#options.trouble(error as Error);
    }
    if (this.id.peek() === id) this.loading.value = false;
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
