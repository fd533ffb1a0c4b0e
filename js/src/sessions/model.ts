/** What the view of sessions knows and does. State lives in the Core; here is what is looked at. */

import { batch, computed, signal } from "@preact/signals";
import { LinkLost } from "../client/client";
import { browserTimers, type Timers, type Transport } from "../client/transport";
import { barred } from "../model/controls";
import { Inbox } from "../model/inbox";
import type { AgentState, Conversation, TopicEvent } from "../protocol/runtime.gen";
import { Followed, RuntimeLine, SERVICE, Talk } from "./followed";
import { Once, Orders } from "./orders";
import { type Column, FIRST, type Filter, type Order, refusedBy, turned } from "./status";

/** Orders that a form is filled in for. */
const ASKED = ["interrupt", "input", "destroy"] as const;

/** What a form below the list asks for: it is for the sessions that were chosen when it was opened. */
export interface Asking {
  readonly order: (typeof ASKED)[number];
  readonly sessions: readonly string[];
}

export type Side = "steps" | "conversations";

interface SessionsOptions {
  transport: Transport;
  /** The view's name and version. */
  name: string;
  /** The conversation to begin with; "" where none was asked for. */
  conversation?: string;
  timers?: Timers;
}

/** Notices are taken in together: many agents at work are still one drawing at a time. */
const GATHER_MS = 40;
/** Sessions that are asked for at once, and those that a list has at most: the newest. */
const PAGE = 200;
const MOST = 5000;

export class SessionsModel {
  readonly line: RuntimeLine;
  readonly orders: Orders;
  readonly #once = new Once();
  readonly followed: Followed;
  readonly talk: Talk;
  readonly states = signal<ReadonlyMap<string, AgentState>>(new Map());
  readonly conversations = signal<ReadonlyMap<string, Conversation>>(new Map());
  /** Whether the sessions that there are have been told. */
  readonly loaded = signal(false);
  readonly filter = signal<Filter>({ text: "", state: "" });
  readonly order = signal(FIRST);
  /** The sessions that orders are for, where several are. */
  readonly chosen = signal<ReadonlySet<string>>(new Set());
  readonly asking = signal<Asking | null>(null);
  /** What is being written for a next step: it outlives the form, until it is sent. */
  readonly words = signal("");
  readonly side = signal<Side>("steps");
  /** The sessions that orders are for now. */
  readonly targets = computed(() => this.#targets());
  /** Why nothing can be changed from here now; null where it can. */
  readonly barred = computed(() => barred(this.line));
  readonly #inbox: Inbox<TopicEvent>;
  #leave: (() => void)[] = [];

  constructor({ transport, name, conversation, timers = browserTimers }: SessionsOptions) {
    const soon = (then: () => void) => timers.after(GATHER_MS, then);
    this.#inbox = new Inbox(soon, (heard) => this.#takeIn(heard));
    const trouble = (error: Error) => {
      if (!(error instanceof LinkLost)) this.orders.fail(error.message); // the header says it
    };
    this.line = new RuntimeLine({
      transport,
      service: SERVICE,
      name,
      timers,
      trouble: (message) => this.orders.fail(message),
    });
    this.orders = new Orders(this.line);
    const tell = (notice: TopicEvent) => this.#inbox.put(notice);
    this.followed = new Followed({ line: this.line, tell, trouble });
    this.talk = new Talk({ line: this.line, tell, trouble });
    if (conversation) {
      this.talk.follow(conversation);
      this.side.value = "conversations";
    }
  }

  start(): void {
    this.#leave = [
      this.line.watch("watch", { topic: "sessions" }, (notice) => {
        if (notice.event === "begin") void this.#begin(notice);
        else this.#inbox.put(notice);
      }),
      this.line.watch("watch", { topic: "conversations" }, (notice) => this.#inbox.put(notice)),
    ];
    this.line.start();
  }

  close(): void {
    this.#inbox.forget();
    this.followed.close();
    this.talk.close();
    for (const leave of this.#leave) leave();
    this.line.close();
  }

  // ---- what is looked at --------------------------------------------------------------------------

  narrow(change: Partial<Filter>): void {
    this.filter.value = { ...this.filter.peek(), ...change };
  }

  sort(by: Column): void {
    this.order.value = turned(this.order.peek(), by);
  }

  /** Look at a session's steps. */
  select(id: string): void {
    this.followed.follow(id);
  }

  choose(id: string): void {
    const chosen = new Set(this.chosen.peek());
    if (!chosen.delete(id)) chosen.add(id);
    this.chosen.value = chosen;
  }

  /** Choose these and no others. */
  chooseAll(ids: readonly string[]): void {
    this.chosen.value = new Set(ids);
  }

  /** Open a conversation beside the list; null leads back to all of them. */
  open(conversation: string | null): void {
    this.talk.follow(conversation);
    this.side.value = "conversations";
  }

  // ---- orders ------------------------------------------------------------------------------------

  /** Why an order can't be given now; null where one of those that it is for can take it. */
  held(order: Order, states: readonly AgentState[] = this.targets.value): string | null {
    if (this.barred.value !== null) return this.barred.value;
    const reasons = states.map((state) => refusedBy(order, state));
    if (reasons.length === 0) return "Select a session first";
    return reasons.includes(null) ? null : (reasons[0] ?? null);
  }

  /** Give an order, or open the form that it needs first. */
  give(order: Order): void {
    if (this.held(order) !== null) return;
    const able = this.targets.peek().filter((state) => refusedBy(order, state) === null);
    const asked = ASKED.find((each) => each === order);
    if (asked)
      this.asking.value = { order: asked, sessions: able.map(({ session_id }) => session_id) };
    else void this.orders.give(order, able);
  }

  /** What the form was opened for is done. Words that didn't reach a session stay in it, for that. */
  async answer(): Promise<void> {
    const asking = this.asking.peek();
    if (asking === null) return;
    const words = this.words.peek();
    if (asking.order === "destroy") this.asking.value = null;
    const left = await this.orders.give(asking.order, this.statesOf(asking.sessions), words);
    if (asking.order === "destroy") return;
    if (left.length === 0 && this.words.peek() === words) this.words.value = "";
    if (this.asking.peek() !== asking) return; // another was opened meanwhile
    const sessions = left.map(({ session_id }) => session_id);
    this.asking.value = left.length === 0 ? null : { ...asking, sessions };
  }

  /** The snapshots of those that are known. */
  statesOf(ids: Iterable<string>): AgentState[] {
    const states = this.states.value;
    return [...ids].flatMap((id) => states.get(id) ?? []);
  }

  // ---- conversations -----------------------------------------------------------------------------

  /** Begin a conversation with these sessions, and open it. */
  begin(title: string, sessions: readonly string[]): Promise<boolean> {
    return this.#attempt(async () => {
      const made = await this.line.ask("create_conversation", { title });
      const conversation_id = made.conversation_id;
      this.#putConversations([made]);
      this.open(conversation_id); // it is there, whoever can't take part
      await this.join(sessions);
    });
  }

  /** Let sessions take part in the conversation that is open. */
  join(sessions: readonly string[]): Promise<boolean> {
    const conversation_id = this.talk.id.peek() ?? "";
    return this.#attempt(async () => {
      for (const session_id of sessions)
        await this.line.ask("join", { conversation_id, kind: "session", session_id });
    });
  }

  /** Let somebody leave the conversation that is open: what they said stays. */
  leave(participant_id: string): Promise<boolean> {
    const conversation_id = this.talk.id.peek() ?? "";
    return this.#attempt(() => this.line.ask("leave", { conversation_id, participant_id }));
  }

  /** Post to the conversation that is open; false where it was refused: what was written stays. */
  post(text: string): Promise<boolean> {
    const conversation_id = this.talk.id.peek() ?? "";
    return this.#attempt(() =>
      this.#once.ask(`${conversation_id} ${text}`, (idem_key) =>
        this.line.ask("say", { conversation_id, text, idem_key }),
      ),
    );
  }

  async #attempt(act: () => Promise<unknown>): Promise<boolean> {
    this.orders.news.value = null;
    try {
      await act();
      return true;
    } catch (error) {
      this.orders.fail((error as Error).message);
      return false;
    }
  }

  // ---- what is told -------------------------------------------------------------------------------

  #takeIn(heard: readonly TopicEvent[]): void {
    batch(() => {
      this.#putStates(heard.flatMap(({ states }) => states));
      this.#putConversations(heard.flatMap(({ conversations }) => conversations));
      this.#putActions(heard);
    });
  }

  /** A topic begins with as many sessions as fit into a message: the rest is asked for. */
  async #begin(notice: TopicEvent): Promise<void> {
    this.#inbox.flush(); // what was heard before is older
    this.#putStates(notice.states);
    this.loaded.value = true;
    let offset = notice.states.length;
    try {
      for (let more = PAGE; more === PAGE && offset < MOST; offset += more) {
        const { states } = await this.line.ask("states", { limit: PAGE, offset });
        this.#putStates(states, false);
        more = states.length;
      }
    } catch (error) {
      if (!(error instanceof LinkLost)) this.orders.fail((error as Error).message);
    }
  }

  /**
   * @param told Whether a topic told it: what was only asked for may be older than what was told.
   */
  #putStates(rows: readonly AgentState[], told = true): void {
    if (rows.length === 0) return;
    const states = new Map(this.states.peek());
    const changed: string[] = [];
    for (const row of rows) {
      const known = states.get(row.session_id);
      if (known && !told && known.updated_at >= row.updated_at) continue;
      // What only its moniker understands may be large, and nobody looks at it here.
      states.set(row.session_id, { ...row, state: null, context: null });
      if (known && isAnother(known, row)) changed.push(row.session_id);
    }
    this.states.value = states;
    this.orders.settled(changed);
  }

  #putConversations(rows: readonly Conversation[]): void {
    if (rows.length === 0) return;
    const conversations = new Map(this.conversations.peek());
    for (const row of rows) conversations.set(row.conversation_id, row);
    this.conversations.value = conversations;
  }

  /** An action that failed changes nothing that could be seen: it is said. */
  #putActions(heard: readonly TopicEvent[]): void {
    const told = heard.filter(({ event }) => event === "action").flatMap(({ actions }) => actions);
    const over = told.filter(({ status }) => status === "done" || status === "failed");
    this.orders.settled(over.map(({ session_id }) => session_id));
    const failed = told.findLast(
      ({ status, id }) => status === "failed" && !this.orders.awaits(id), // else it is told there
    );
    if (failed) this.orders.fail(`${failed.agent_id}: ${failed.error ?? "an action failed"}`);
  }

  #targets(): AgentState[] {
    const chosen = this.chosen.value;
    const id = this.followed.id.value;
    if (chosen.size > 0) return this.statesOf(chosen);
    return id === null ? [] : this.statesOf([id]);
  }
}

/** Whether what an order changes is another thing by now. */
function isAnother(before: AgentState, now: AgentState): boolean {
  return (
    before.status !== now.status || JSON.stringify(before.guidance) !== JSON.stringify(now.guidance)
  );
}
