/** What a person tells sessions to do: one or several at once. */
import { signal } from "@preact/signals";
import { LinkLost } from "../client/client";
import type { Action, ActionKind, AgentState, TopicEvent } from "../protocol/runtime.gen";
import { count, visible } from "../view/words";
import type { RuntimeLine } from "./followed";
import { type Order, refusedBy } from "./status";

/** Lets what was sent, and never answered, be sent again without being done twice. */
export class Once {
  readonly #unanswered = new Map<string, string>();

  /**
   * Ask for something that isn't to be done twice.
   *
   * @param sent - What is asked for: the same again, after an answer that got lost, has the same key.
   * @param ask - Asks, with the key.
   */
  async ask<T>(sent: string, ask: (idem_key: string) => Promise<T>): Promise<T> {
    const idem_key = this.#unanswered.get(sent) ?? newKey();
    this.#unanswered.set(sent, idem_key);
    let answered = true;
    try {
      return await ask(idem_key);
    } catch (error) {
      answered = !(error instanceof LinkLost);
      throw error;
    } finally {
      if (answered) this.#unanswered.delete(sent);
    }
  }
}

function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12)); // randomUUID needs https
  return `view-${[...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

/** Something that a person is told, until they dismiss it. */
export interface News {
  readonly tone: "bad" | "good";
  readonly text: string;
}

const KINDS: Record<Order, ActionKind> = {
  pause: "agent_pause",
  resume: "agent_resume",
  interrupt: "agent_interrupt",
  input: "agent_input",
  destroy: "agent_destroy",
};

const WENT_WRONG: Record<Order, string> = {
  pause: "could not be paused",
  resume: "could not be resumed",
  interrupt: "could not be told",
  input: "could not be told",
  destroy: "could not be destroyed",
};

/** Requests that are open at once: the Core takes no more than a thousand. */
const AT_ONCE = 64;

/** One order to several sessions, and those of them that it went wrong with so far. */
interface Given {
  readonly order: Order;
  readonly of: number;
  readonly wrong: { readonly state: AgentState; readonly why: string }[];
}

export class Orders {
  /** Orders that are on their way, by session: what becomes of them shows in its state. */
  readonly under = signal<ReadonlyMap<string, Order>>(new Map());
  readonly news = signal<News | null>(null);
  readonly #line: RuntimeLine;
  readonly #outcomes: Outcomes;
  /** Input that may have been taken though no answer came: sent again, it is the same action. */
  readonly #once = new Once();

  constructor(line: RuntimeLine) {
    this.#line = line;
    this.#outcomes = new Outcomes(line, (error) => this.fail(error.message));
  }

  /** Give an order to each of these that can take it; gives back those that it didn't reach. */
  async give(order: Order, states: readonly AgentState[], words = ""): Promise<AgentState[]> {
    const able = states.filter((state) => refusedBy(order, state) === null);
    const given: Given = { order, of: able.length, wrong: [] };
    this.news.value = null;
    this.#note(able.map(({ session_id }) => [session_id, order]));
    const left = able.values();
    const giveOn = async () => {
      for (const state of left) await this.#giveTo(state, given, words);
    };
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, able.length) }, giveOn));
    return given.wrong.map(({ state }) => state);
  }

  /** These sessions changed, or won't: nothing is on its way to them any more. */
  settled(ids: readonly string[]): void {
    const under = new Map(this.under.peek());
    const some = ids.filter((id) => under.delete(id));
    if (some.length > 0) this.under.value = under;
  }

  /** Whether this action is an order of this view's, whose end is told here. */
  awaits(action: string): boolean {
    return this.#outcomes.has(action);
  }

  fail(text: string): void {
    this.news.value = { tone: "bad", text };
  }

  /** Gives back once it is taken; what becomes of it is told when it is known. */
  async #giveTo(state: AgentState, given: Given, words: string): Promise<void> {
    const { session_id } = state;
    try {
      const action = await this.#act(given.order, session_id, words);
      void this.#outcomes.of(action).then(({ status, error }) => {
        if (status === "failed") this.#wentWrong(state, given, error ?? "it says no more");
        else this.settled([session_id]);
      });
    } catch (error) {
      this.#wentWrong(state, given, (error as Error).message);
    }
  }

  /** All but input may be said twice: it changes nothing more. */
  async #act(order: Order, session_id: string, words: string): Promise<Action> {
    const told = { kind: KINDS[order], session_id };
    if (order !== "input") {
      const guided = order === "interrupt" && { payload: { guidance: words } };
      return (await this.#line.ask("act", { ...told, ...guided })).action;
    }
    const payload = { text: words };
    return this.#once.ask(`${session_id} ${words}`, async (idem_key) => {
      return (await this.#line.ask("act", { ...told, payload, idem_key })).action;
    });
  }

  #wentWrong(state: AgentState, { order, of, wrong }: Given, why: string): void {
    wrong.push({ state, why });
    this.settled([state.session_id]);
    const n = wrong.length;
    const who = n === 1 ? visible(state.agent_id) : `${n} of ${count(of, "session")}`;
    this.fail(`${who} ${WENT_WRONG[order]}: ${wrong[0]?.why ?? why}`);
  }

  #note(orders: readonly (readonly [string, Order])[]): void {
    if (orders.length > 0) this.under.value = new Map([...this.under.peek(), ...orders]);
  }
}

// ---- What became of orders that were taken: an action may still fail, also one for a session that nobody
// looks at, whose topic is the only place where that is told.

/** Sessions that are listened to at once: the others wait for their turn, and miss nothing by it. */
const HEARD_AT_ONCE = 32;

interface Awaited {
  readonly action: Action;
  over(ended: Action): void;
}

export class Outcomes {
  readonly #line: RuntimeLine;
  readonly #trouble: (error: Error) => void;
  /** In the order in which they were taken; the first of them are listened to. */
  readonly #awaited = new Map<string, Awaited>();
  readonly #heard = new Map<string, () => void>();

  constructor(line: RuntimeLine, trouble: (error: Error) => void) {
    this.#line = line;
    this.#trouble = trouble;
  }

  /** The action once it is done or has failed. */
  of(action: Action): Promise<Action> {
    return new Promise((over) => {
      if (isOver(action)) {
        over(action);
        return;
      }
      this.#awaited.set(action.id, { action, over });
      this.#listen();
    });
  }

  /** Whether somebody waits for this action, and says what becomes of it. */
  has(id: string): boolean {
    return this.#awaited.has(id);
  }

  #listen(): void {
    for (const { action } of this.#awaited.values()) {
      if (this.#heard.size >= HEARD_AT_ONCE) return;
      const { id, session_id } = action;
      if (this.#heard.has(id)) continue;
      const hear = (notice: TopicEvent) => this.#hear(id, notice);
      this.#heard.set(id, this.#line.watch("watch", { topic: `session:${session_id}` }, hear));
    }
  }

  #hear(id: string, { event, actions }: TopicEvent): void {
    const told = actions.find((each) => each.id === id);
    if (told && isOver(told)) this.#end(told);
    else if (!told && event === "begin") void this.#ask(id); // none of the open ones: it is over
  }

  async #ask(id: string): Promise<void> {
    try {
      const { actions } = await this.#line.ask("actions", { id });
      const [found] = actions;
      if (found && isOver(found)) this.#end(found);
    } catch (error) {
      if (!(error instanceof LinkLost)) this.#trouble(error as Error); // else it begins again
    }
  }

  #end(action: Action): void {
    const { id } = action;
    this.#heard.get(id)?.();
    this.#heard.delete(id);
    this.#awaited.get(id)?.over(action);
    this.#awaited.delete(id);
    this.#listen();
  }
}

const isOver = ({ status }: Action): boolean => status === "done" || status === "failed";
