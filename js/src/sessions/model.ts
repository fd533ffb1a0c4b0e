/** What the view of sessions knows and does. State lives in the Core; here is what is looked at. */

import { batch, computed, signal } from "@preact/signals";
import { LinkLost } from "../client/core_client";
import { IdempotentRequests } from "../client/idempotent_requests";
import { browserTimers, type Timers, type Transport } from "../client/transport";
import { readOnlyReason } from "../model/controls";
import { Inbox } from "../model/inbox";
import type { AgentState, Conversation, TopicEvent } from "../protocol/runtime.gen";
import { failedSessionsText, SessionActions } from "./session_actions";
import {
  type Column,
  DEFAULT_SORTING,
  type Filter,
  refusalReason,
  type SessionActionKind,
  toggleSorting,
} from "./status";
import { ConversationTopic, RUNTIME_SERVICE, RuntimeClient, SessionTopic } from "./topics";

/** Actions that a form is filled in for. */
const FORM_ACTIONS = ["interrupt", "input", "destroy"] as const;

/** What a form below the list asks for: it is for the sessions that were chosen when it was opened. */
export interface ActionForm {
  readonly action: (typeof FORM_ACTIONS)[number];
  readonly sessions: readonly string[];
}

export type SideTab = "steps" | "conversations";

interface SessionsOptions {
  transport: Transport;
  /** The view's name and version. */
  name: string;
  /** The conversation to begin with; "" where none was asked for. */
  conversation?: string;
  timers?: Timers;
}

/** Notices are taken in together: many agents at work are still one drawing at a time. */
const BATCH_MS = 40;
/** Sessions that are asked for at once, and those that a list has at most: the newest. */
const PAGE = 200;
const MAX_SESSIONS = 5000;

export class SessionsModel {
  readonly client: RuntimeClient;
  readonly actions: SessionActions;
  readonly #requests = new IdempotentRequests();
  readonly sessionTopic: SessionTopic;
  readonly conversationTopic: ConversationTopic;
  readonly states = signal<ReadonlyMap<string, AgentState>>(new Map());
  readonly conversations = signal<ReadonlyMap<string, Conversation>>(new Map());
  /** Whether the sessions that there are have been told. */
  readonly isLoaded = signal(false);
  readonly filter = signal<Filter>({ text: "", state: "" });
  readonly sorting = signal(DEFAULT_SORTING);
  /** The sessions that actions are for, where several are. */
  readonly chosen = signal<ReadonlySet<string>>(new Set());
  readonly actionForm = signal<ActionForm | null>(null);
  /** What is being written for a next step: it outlives the form, until it is sent. */
  readonly guidance = signal("");
  readonly sideTab = signal<SideTab>("steps");
  /** The sessions that actions are for now. */
  readonly targets = computed(() => this.#targets());
  /** Why nothing can be changed from here now; null where it can. */
  readonly readOnlyReason = computed(() => readOnlyReason(this.client));
  readonly #inbox: Inbox<TopicEvent>;
  #subscriptions: (() => void)[] = [];

  constructor({ transport, name, conversation, timers = browserTimers }: SessionsOptions) {
    const soon = (then: () => void) => timers.after(BATCH_MS, then);
    this.#inbox = new Inbox(soon, (notices) => this.#apply(notices));
    const onError = (error: Error) => this.actions.fail(error.message);
    this.client = new RuntimeClient({
      transport,
      service: RUNTIME_SERVICE,
      name,
      timers,
      onError: (message) => this.actions.fail(message),
    });
    this.actions = new SessionActions(this.client);
    const onNotice = (notice: TopicEvent) => this.#inbox.add(notice);
    this.sessionTopic = new SessionTopic({ client: this.client, onNotice, onError });
    this.conversationTopic = new ConversationTopic({ client: this.client, onNotice, onError });
    if (conversation) {
      this.conversationTopic.follow(conversation);
      this.sideTab.value = "conversations";
    }
  }

  start(): void {
    this.#subscriptions = [
      this.client.subscribe("watch", { topic: "sessions" }, (notice) => {
        if (notice.event === "begin") void this.#load(notice);
        else this.#inbox.add(notice);
      }),
      this.client.subscribe("watch", { topic: "conversations" }, (notice) =>
        this.#inbox.add(notice),
      ),
    ];
    this.client.start();
  }

  close(): void {
    this.#inbox.forget();
    this.sessionTopic.close();
    this.conversationTopic.close();
    for (const leave of this.#subscriptions) leave();
    this.client.close();
  }

  // ---- what is looked at --------------------------------------------------------------------------

  updateFilter(change: Partial<Filter>): void {
    this.filter.value = { ...this.filter.peek(), ...change };
  }

  sort(by: Column): void {
    this.sorting.value = toggleSorting(this.sorting.peek(), by);
  }

  /** Look at a session's steps. */
  select(id: string): void {
    this.sessionTopic.follow(id);
  }

  toggleChosen(id: string): void {
    const chosen = new Set(this.chosen.peek());
    if (!chosen.delete(id)) chosen.add(id);
    this.chosen.value = chosen;
  }

  /** Choose these and no others. */
  setChosen(ids: readonly string[]): void {
    this.chosen.value = new Set(ids);
  }

  /** Open a conversation beside the list; null leads back to all of them. */
  openConversation(conversation: string | null): void {
    this.conversationTopic.follow(conversation);
    this.sideTab.value = "conversations";
  }

  // ---- actions -----------------------------------------------------------------------------------

  /** Why an action can't be sent now; null where one of the sessions that it is for can take it. */
  actionDisabledReason(
    action: SessionActionKind,
    states: readonly AgentState[] = this.targets.value,
  ): string | null {
    if (this.readOnlyReason.value !== null) return this.readOnlyReason.value;
    const reasons = states.map((state) => refusalReason(action, state));
    if (reasons.length === 0) return "Select a session first";
    return reasons.includes(null) ? null : (reasons[0] ?? null);
  }

  /** Send an action, or open the form that it needs first. */
  sendAction(action: SessionActionKind): void {
    if (this.actionDisabledReason(action) !== null) return;
    const able = this.targets.peek().filter((state) => refusalReason(action, state) === null);
    const request = FORM_ACTIONS.find((each) => each === action);
    if (request)
      this.actionForm.value = {
        action: request,
        sessions: able.map(({ session_id }) => session_id),
      };
    else void this.actions.send(action, able);
  }

  /** What the form was opened for is done. Words that didn't reach a session stay in it, for that. */
  async submitActionForm(): Promise<void> {
    const actionForm = this.actionForm.peek();
    if (actionForm === null) return;
    const guidance = this.guidance.peek();
    if (actionForm.action === "destroy") this.actionForm.value = null;
    const left = await this.actions.send(
      actionForm.action,
      this.statesOf(actionForm.sessions),
      guidance,
    );
    if (actionForm.action === "destroy") return;
    if (left.length === 0 && this.guidance.peek() === guidance) this.guidance.value = "";
    if (this.actionForm.peek() !== actionForm) return; // another was opened meanwhile
    const sessions = left.map(({ session_id }) => session_id);
    this.actionForm.value = left.length === 0 ? null : { ...actionForm, sessions };
  }

  /** The snapshots of those that are known. */
  statesOf(ids: Iterable<string>): AgentState[] {
    const states = this.states.value;
    return [...ids].flatMap((id) => states.get(id) ?? []);
  }

  // ---- conversations -----------------------------------------------------------------------------

  /** Begin a conversation with these sessions, and open it. */
  createConversation(title: string, sessions: readonly string[]): Promise<boolean> {
    return this.#run(async () => {
      const made = await this.client.request("create_conversation", { title });
      const conversation_id = made.conversation_id;
      this.#storeConversations([made]);
      this.openConversation(conversation_id); // it is there, whoever can't take part
      await this.addParticipants(sessions);
    });
  }

  /** Let sessions take part in the conversation that is open: one that can't doesn't keep the others out. */
  addParticipants(sessions: readonly string[]): Promise<boolean> {
    const conversation_id = this.conversationTopic.id.peek() ?? "";
    return this.#run(async () => {
      const failures: { session_id: string; reason: string }[] = [];
      for (const session_id of sessions) {
        try {
          await this.client.request("join", { conversation_id, kind: "session", session_id });
        } catch (error) {
          failures.push({ session_id, reason: (error as Error).message });
        }
      }
      const [first] = failures;
      if (!first) return;
      const name = this.states.peek().get(first.session_id)?.agent_id ?? first.session_id;
      const who = failedSessionsText(name, failures.length, sessions.length);
      throw new Error(`${who} could not be added to the conversation: ${first.reason}`);
    });
  }

  /** Let somebody leave the conversation that is open: what they said stays. */
  removeParticipant(participant_id: string): Promise<boolean> {
    const conversation_id = this.conversationTopic.id.peek() ?? "";
    return this.#run(() => this.client.request("leave", { conversation_id, participant_id }));
  }

  /** Post to the conversation that is open; false where it was refused: what was written stays. */
  postMessage(text: string): Promise<boolean> {
    const conversation_id = this.conversationTopic.id.peek() ?? "";
    return this.#run(() =>
      this.#requests.sendRequest(`${conversation_id} ${text}`, (idem_key) =>
        this.client.request("say", { conversation_id, text, idem_key }),
      ),
    );
  }

  async #run(act: () => Promise<unknown>): Promise<boolean> {
    this.actions.notice.value = null;
    try {
      await act();
      return true;
    } catch (error) {
      this.actions.fail((error as Error).message);
      return false;
    }
  }

  // ---- what is told -------------------------------------------------------------------------------

  #apply(notices: readonly TopicEvent[]): void {
    batch(() => {
      this.#storeStates(notices.flatMap(({ states }) => states));
      this.#storeConversations(notices.flatMap(({ conversations }) => conversations));
      this.#storeActions(notices);
    });
  }

  /** A topic begins with as many sessions as fit into a message: the rest is asked for. */
  async #load(notice: TopicEvent): Promise<void> {
    this.#inbox.flush(); // what was heard before is older
    this.#storeStates(notice.states);
    this.isLoaded.value = true;
    let offset = notice.states.length;
    try {
      for (let more = PAGE; more === PAGE && offset < MAX_SESSIONS; offset += more) {
        const { states } = await this.client.request("states", { limit: PAGE, offset });
        this.#storeStates(states, false);
        more = states.length;
      }
    } catch (error) {
      if (!(error instanceof LinkLost)) this.actions.fail((error as Error).message);
    }
  }

  /**
   * @param told Whether a topic told it: what was only asked for may be older than what was told.
   */
  #storeStates(rows: readonly AgentState[], told = true): void {
    if (rows.length === 0) return;
    const states = new Map(this.states.peek());
    const changed: string[] = [];
    for (const row of rows) {
      const known = states.get(row.session_id);
      if (known && !told && known.updated_at >= row.updated_at) continue;
      // What only its moniker understands may be large, and nobody looks at it here.
      states.set(row.session_id, { ...row, state: null, context: null });
      if (known && hasVisibleChange(known, row)) changed.push(row.session_id);
    }
    this.states.value = states;
    this.actions.markSettled(changed);
  }

  #storeConversations(rows: readonly Conversation[]): void {
    if (rows.length === 0) return;
    const conversations = new Map(this.conversations.peek());
    for (const row of rows) conversations.set(row.conversation_id, row);
    this.conversations.value = conversations;
  }

  /** An action that failed changes nothing that could be seen: it is said. */
  #storeActions(notices: readonly TopicEvent[]): void {
    const changed = notices
      .filter(({ event }) => event === "action")
      .flatMap(({ actions }) => actions);
    const finished = changed.filter(({ status }) => status === "done" || status === "failed");
    this.actions.markSettled(finished.map(({ session_id }) => session_id));
    const failed = changed.findLast(
      ({ status, id }) => status === "failed" && !this.actions.isAwaiting(id), // else it is told there
    );
    if (failed) this.actions.fail(`${failed.agent_id}: ${failed.error ?? "an action failed"}`);
  }

  #targets(): AgentState[] {
    const chosen = this.chosen.value;
    const id = this.sessionTopic.id.value;
    if (chosen.size > 0) return this.statesOf(chosen);
    return id === null ? [] : this.statesOf([id]);
  }
}

/** Whether what an action changes is another thing by now. */
function hasVisibleChange(before: AgentState, now: AgentState): boolean {
  return (
    before.status !== now.status ||
    before.is_pausing !== now.is_pausing ||
    JSON.stringify(before.guidance) !== JSON.stringify(now.guidance)
  );
}
