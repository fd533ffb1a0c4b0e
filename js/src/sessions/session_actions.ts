/** What a person tells sessions to do: one or several at once. */
import { signal } from "@preact/signals";
import { LinkLost } from "../client/core_client";
import { IdempotentRequests } from "../client/idempotent_requests";
import type { Action, ActionKind, AgentState, TopicEvent } from "../protocol/runtime.gen";
import { escapeInvisible, formatCount } from "../view/format";
import { oneLine, refusalReason, type SessionActionKind } from "./status";
import type { RuntimeClient } from "./topics";

/** Something that a person is told, until they dismiss it. */
export interface ActionNotice {
  readonly tone: "bad" | "good";
  readonly text: string;
}

const ACTION_KINDS: Record<SessionActionKind, ActionKind> = {
  pause: "agent_pause",
  resume: "agent_resume",
  interrupt: "agent_interrupt",
  input: "agent_input",
  destroy: "agent_destroy",
};

const FAILURES: Record<SessionActionKind, string> = {
  pause: "could not be paused",
  resume: "could not be resumed",
  interrupt: "could not be interrupted",
  input: "could not receive the input",
  destroy: "could not be destroyed",
};

/** Which sessions something failed for: one by its agent, several by how many of all they are. */
export const failedSessionsText = (agent: string, n: number, sessionCount: number): string =>
  n === 1 ? escapeInvisible(agent) : `${n} of ${formatCount(sessionCount, "session")}`;

/** Requests that are open at once: the Core takes no more than a thousand. */
const MAX_REQUESTS = 64;

/** One action for several sessions, and those of them that it failed for so far. */
interface SentAction {
  readonly action: SessionActionKind;
  readonly sessionCount: number;
  readonly failures: { readonly state: AgentState; readonly reason: string }[];
}

export class SessionActions {
  /** Actions that are on their way, by session: what becomes of them shows in its state. */
  readonly pending = signal<ReadonlyMap<string, SessionActionKind>>(new Map());
  readonly notice = signal<ActionNotice | null>(null);
  readonly #client: RuntimeClient;
  readonly #actionOutcomes: ActionOutcomes;
  /** Input that may have been taken though no answer came: sent again, it is the same action. */
  readonly #requests = new IdempotentRequests();

  constructor(client: RuntimeClient) {
    this.#client = client;
    this.#actionOutcomes = new ActionOutcomes(client, (error) => this.fail(error.message));
  }

  /** Send an action to each of these that can take it; gives back those that it didn't reach. */
  async send(
    action: SessionActionKind,
    states: readonly AgentState[],
    guidance = "",
  ): Promise<AgentState[]> {
    const able = states.filter((state) => refusalReason(action, state) === null);
    const sentAction: SentAction = { action, sessionCount: able.length, failures: [] };
    this.notice.value = null;
    this.#markPending(able.map(({ session_id }) => [session_id, action]));
    const left = able.values();
    const sendNext = async () => {
      for (const state of left) await this.#sendTo(state, sentAction, guidance);
    };
    await Promise.all(Array.from({ length: Math.min(MAX_REQUESTS, able.length) }, sendNext));
    return sentAction.failures.map(({ state }) => state);
  }

  /** These sessions changed, or won't: nothing is on its way to them any more. */
  markSettled(ids: readonly string[]): void {
    const pending = new Map(this.pending.peek());
    const some = ids.filter((id) => pending.delete(id));
    if (some.length > 0) this.pending.value = pending;
  }

  /** Whether this view sent this action, and shows its end here. */
  isAwaiting(action: string): boolean {
    return this.#actionOutcomes.has(action);
  }

  fail(text: string): void {
    this.notice.value = { tone: "bad", text: oneLine(text) };
  }

  /** Gives back once it is taken; what becomes of it is told when it is known. */
  async #sendTo(state: AgentState, sentAction: SentAction, guidance: string): Promise<void> {
    const { session_id } = state;
    try {
      const action = await this.#requestAction(sentAction.action, session_id, guidance);
      void this.#actionOutcomes.waitForEnd(action).then(({ status, error }) => {
        if (status === "failed")
          this.#recordFailure(state, sentAction, error ?? "the action failed without a reason");
        else this.markSettled([session_id]);
      });
    } catch (error) {
      this.#recordFailure(state, sentAction, (error as Error).message);
    }
  }

  /** All but input may be said twice: it changes nothing more. */
  async #requestAction(
    action: SessionActionKind,
    session_id: string,
    guidance: string,
  ): Promise<Action> {
    const fields = { kind: ACTION_KINDS[action], session_id };
    if (action !== "input") {
      const payloadFields = action === "interrupt" && { payload: { guidance: guidance } };
      return (await this.#client.request("act", { ...fields, ...payloadFields })).action;
    }
    const payload = { text: guidance };
    return this.#requests.sendRequest(`${session_id} ${guidance}`, async (idem_key) => {
      return (await this.#client.request("act", { ...fields, payload, idem_key })).action;
    });
  }

  #recordFailure(
    state: AgentState,
    { action, sessionCount, failures }: SentAction,
    reason: string,
  ): void {
    failures.push({ state, reason });
    this.markSettled([state.session_id]);
    const who = failedSessionsText(state.agent_id, failures.length, sessionCount);
    this.fail(`${who} ${FAILURES[action]}: ${failures[0]?.reason ?? reason}`);
  }

  #markPending(actions: readonly (readonly [string, SessionActionKind])[]): void {
    if (actions.length > 0) this.pending.value = new Map([...this.pending.peek(), ...actions]);
  }
}

// ---- What became of actions that were taken: one may still fail, also one for a session that nobody
// looks at, whose topic is the only place where that is told.

/** Sessions that are listened to at once: the others wait for their turn, and miss nothing by it. */
const MAX_SUBSCRIPTIONS = 32;

interface PendingAction {
  readonly action: Action;
  resolve(ended: Action): void;
}

export class ActionOutcomes {
  readonly #client: RuntimeClient;
  readonly #onError: (error: Error) => void;
  /** In the order in which they were taken; the first of them are listened to. */
  readonly #pending = new Map<string, PendingAction>();
  readonly #subscriptions = new Map<string, () => void>();

  constructor(client: RuntimeClient, onError: (error: Error) => void) {
    this.#client = client;
    this.#onError = onError;
  }

  /** The action once it is done or has failed. */
  waitForEnd(action: Action): Promise<Action> {
    return new Promise((resolve) => {
      if (isFinished(action)) {
        resolve(action);
        return;
      }
      this.#pending.set(action.id, { action, resolve });
      this.#listen();
    });
  }

  /** Whether somebody waits for this action, and says what becomes of it. */
  has(id: string): boolean {
    return this.#pending.has(id);
  }

  #listen(): void {
    for (const { action } of this.#pending.values()) {
      if (this.#subscriptions.size >= MAX_SUBSCRIPTIONS) return;
      const { id, session_id } = action;
      if (this.#subscriptions.has(id)) continue;
      const onNotice = (notice: TopicEvent) => this.#onNotice(id, notice);
      this.#subscriptions.set(
        id,
        this.#client.subscribe("watch", { topic: `session:${session_id}` }, onNotice),
      );
    }
  }

  #onNotice(id: string, { event, actions }: TopicEvent): void {
    const fields = actions.find((each) => each.id === id);
    if (fields && isFinished(fields)) this.#end(fields);
    else if (!fields && event === "begin") void this.#load(id); // none of the open ones: it is over
  }

  async #load(id: string): Promise<void> {
    try {
      const { actions } = await this.#client.request("actions", { id });
      const [found] = actions;
      if (found && isFinished(found)) this.#end(found);
    } catch (error) {
      if (!(error instanceof LinkLost)) this.#onError(error as Error); // else it begins again
    }
  }

  #end(action: Action): void {
    const { id } = action;
    this.#subscriptions.get(id)?.();
    this.#subscriptions.delete(id);
    this.#pending.get(id)?.resolve(action);
    this.#pending.delete(id);
    this.#listen();
  }
}

const isFinished = ({ status }: Action): boolean => status === "done" || status === "failed";
