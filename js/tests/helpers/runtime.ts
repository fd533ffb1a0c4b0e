/** The Core's runtime, played: it answers from what a test laid down, and tells what the test says. */
import type { LinkEvents } from "../../src/client/transport";
import type {
  Action,
  AgentState,
  AgentStep,
  Conversation,
  ConversationMessage,
  Participant,
  RuntimeRequestTypes,
  TopicEvent,
} from "../../src/protocol/runtime.gen";
import { settled } from "./peer";
import { FakeService } from "./service";

export const BEGAN = 1_700_000_000;

export function aState(session: string, fields: Partial<AgentState> = {}): AgentState {
  return {
    agent_id: "joker",
    session_id: session,
    status: "running",
    iteration: 3,
    step_token: "2",
    next_step_token: "3",
    state: null,
    result: { text: `Words of ${session}`, data: null, done: false },
    context: null,
    guidance: null,
    last_error: null,
    moniker: "joke",
    moniker_version: null,
    requires: [],
    config: null,
    limits: {
      stop_on_done: null,
      max_steps: null,
      max_runtime_s: null,
      retries: 0,
      backoff_s: 1,
      max_attempts: 3,
      step_timeout_s: null,
    },
    conversation_id: null,
    run_id: `run-${session}`,
    step: false,
    ran_s: 9,
    epoch: 1,
    attempt: 0,
    next_try_at: null,
    losses: [],
    is_sharing: false,
    is_pausing: false,
    owner: "w1",
    lease_until: BEGAN + 20,
    created_at: BEGAN,
    updated_at: BEGAN + 9,
    ...fields,
  };
}

export function aStep(
  session: string,
  iteration: number,
  fields: Partial<AgentStep> = {},
): AgentStep {
  return {
    id: `${session}-${iteration}`,
    created_at: BEGAN + 3 * iteration,
    agent_id: "joker",
    session_id: session,
    iteration,
    event_seq: 0,
    step_token: String(iteration),
    next_step_token: String(iteration + 1),
    status: "running",
    text: `Step ${iteration} of ${session}`,
    data: null,
    state: null,
    guidance: null,
    notes: null,
    latency_ms: 840,
    error: null,
    ...fields,
  };
}

export function anAction(id: string, session: string, fields: Partial<Action> = {}): Action {
  return {
    id,
    created_at: BEGAN,
    kind: "agent_pause",
    agent_id: "joker",
    session_id: session,
    urgency: 0,
    payload: null,
    metadata: null,
    status: "queued",
    owner: null,
    lease_until: null,
    attempts: 0,
    idem_key: null,
    error: null,
    processed_at: null,
    retry_of: null,
    not_before: null,
    every: null,
    cron: null,
    series_id: null,
    ...fields,
  };
}

export function aConversation(id: string, fields: Partial<Conversation> = {}): Conversation {
  return {
    conversation_id: id,
    title: `Talk ${id}`,
    created_by: "user",
    status: "open",
    tags: [],
    created_at: BEGAN,
    ...fields,
  };
}

export function aParticipant(
  conversation: string,
  session: string | null,
  fields: Partial<Participant> = {},
): Participant {
  return {
    participant_id: `${conversation}-${session ?? "user"}`,
    conversation_id: conversation,
    kind: session === null ? "user" : "session",
    user_id: session === null ? "ada" : null,
    agent_id: session === null ? null : "joker",
    session_id: session,
    role: "member",
    delivery: "push",
    hears: "users",
    joined_at: BEGAN,
    left_at: null,
    ...fields,
  };
}

export function aMessage(
  conversation: string,
  id: string,
  fields: Partial<ConversationMessage> = {},
): ConversationMessage {
  return {
    message_id: id,
    conversation_id: conversation,
    created_at: BEGAN,
    sender_type: "user",
    user_id: "ada",
    agent_id: null,
    session_id: null,
    text: `Message ${id}`,
    data: null,
    status: null,
    event_type: "message",
    iteration: null,
    step_token: null,
    next_step_token: null,
    notes: null,
    ...fields,
  };
}

type Refusal = { code: string; message: string };

/** What is there. */
export interface Kept {
  states?: AgentState[];
  steps?: AgentStep[];
  conversations?: Conversation[];
  participants?: Participant[];
  messages?: ConversationMessage[];
  /** What orders and posts are refused with. */
  refuses?: Refusal;
  /** What the login may do: all, or only watch. */
  control?: boolean;
  /** The actions that are open, and those that are over. */
  actions?: Action[];
  /** How many sessions fit into a beginning. */
  begins?: number;
  /** What the link does: stand unless told otherwise; what breaks doesn't come back. */
  link?: "stands" | "never" | "refused" | "breaks";
}

export class FakeRuntime extends FakeService {
  /** Asked for and answered, of `act`, `say`, `join` and `create_conversation`. */
  readonly done: [string, Record<string, unknown>][] = [];
  readonly kept: Required<Omit<Kept, "refuses" | "link" | "begins" | "control">>;
  refuses: Refusal | undefined;
  /** What some methods are refused with; by "join a": for session a alone. */
  refusesOf: Record<string, Refusal> = {};
  readonly #link: Kept["link"];
  readonly #begins: number;
  readonly #topics = new Map<string, string>();
  #told = 0;

  constructor({ refuses, link, begins = 1000, control = true, ...kept }: Kept = {}) {
    super();
    const { states = [], steps = [], actions = [], conversations = [] } = kept;
    const { participants = [], messages = [] } = kept;
    this.kept = {
      states: [...states],
      steps: [...steps],
      actions: [...actions],
      conversations: [...conversations],
      participants: [...participants],
      messages: [...messages],
    };
    this.refuses = refuses;
    this.#link = link ?? "stands";
    this.#begins = begins;
    this.control = control;
  }

  protected begin(): void {
    this.#topics.clear();
  }

  protected override link(events: LinkEvents): void {
    const breaks = this.#link === "breaks" && this.links === 1;
    if (this.#link === "stands" || breaks) events.opened();
    if (this.#link === "refused") events.closed({ code: 1006, reason: "", opened: false });
  }

  protected cancel(id: string): void {
    this.#topics.delete(id);
  }

  explain = async () =>
    this.#link === "refused" ? "This login has run out. Log in to Jupyter, then try again." : null;

  /** The topics that are watched. */
  get topics(): string[] {
    return [...this.#topics.values()];
  }

  /** Tell something to who watches its topic. */
  async tell(topic: string, event: TopicEvent["event"], rows: Partial<TopicEvent>): Promise<void> {
    for (const [id, watched] of this.#topics)
      if (watched === topic) this.say("item", { value: this.#notice(topic, event, rows) }, id);
    await settled();
  }

  /** A session is as it is here from now on. */
  async change(state: AgentState): Promise<void> {
    const at = this.kept.states.findIndex(({ session_id }) => session_id === state.session_id);
    if (at < 0) this.kept.states.unshift(state);
    else this.kept.states[at] = state;
    for (const topic of ["sessions", `session:${state.session_id}`])
      await this.tell(topic, "state", { states: [state] });
  }

  /** An action is over; who watches its session is told. */
  async end(id: string, status: Action["status"], error: string | null = null): Promise<void> {
    const at = this.kept.actions.findIndex((each) => each.id === id);
    const ended = { ...(this.kept.actions[at] as Action), status, error };
    this.kept.actions[at] = ended;
    await this.tell(`session:${ended.session_id}`, "action", { actions: [ended] });
  }

  protected request(id: string, method: string, asked: Record<string, unknown>): void {
    if (method === "watch") {
      const topic = String(asked.topic);
      this.#topics.set(id, topic);
      this.say("item", { value: this.#notice(topic, "begin", this.#begin(topic)) }, id);
      return;
    }
    const answer = ANSWERS[method as Played];
    if (!answer) throw new Error(`nobody plays ${method}`);
    const changes = !READS.has(method);
    const { [`${method} ${asked.session_id}`]: ofSession, [method]: ofAll } = this.refusesOf;
    const refusal = ofSession ?? ofAll ?? this.refuses;
    if (changes && refusal) {
      this.say("failed", refusal, id);
      return;
    }
    if (changes) this.done.push([method, asked]);
    this.say("result", { value: answer(this.kept, asked) }, id);
  }

  #begin(topic: string): Partial<TopicEvent> {
    const [kind, id] = topic.split(":");
    const { states, steps, actions, conversations } = this.kept;
    if (kind === "sessions") return { states: states.slice(0, this.#begins) };
    if (kind === "conversations") return { conversations };
    if (kind === "session")
      return {
        states: states.filter(({ session_id }) => session_id === id),
        steps: steps.filter(({ session_id }) => session_id === id).slice(-1),
        actions: actions.filter((each) => each.session_id === id && each.status === "queued"),
      };
    return { conversations: conversations.filter(({ conversation_id }) => conversation_id === id) };
  }

  #notice(topic: string, event: TopicEvent["event"], rows: Partial<TopicEvent>): TopicEvent {
    this.#told += 1;
    const none = {
      states: [],
      steps: [],
      actions: [],
      messages: [],
      participants: [],
      conversations: [],
    };
    return { topic, n: this.#told, event, ...none, ...rows };
  }
}

const READS = new Set(["states", "steps", "actions", "conversations", "participants", "messages"]);

type Answer = (kept: FakeRuntime["kept"], asked: Record<string, unknown>) => unknown;

/** What the view of all agents asks for is played in `fleet.ts`. */
type Played = Exclude<
  keyof RuntimeRequestTypes,
  "watch" | "fleet" | "halt_runs" | "continue_runs" | "retry" | "retry_action" | "discard_action"
>;

const ANSWERS: Record<Played, Answer> = {
  states: ({ states }, { limit = 100, offset = 0 }) => ({
    states: states.slice(Number(offset), Number(offset) + Number(limit)),
  }),
  steps: ({ steps }, { session_id, min_iteration = 0 }) => ({
    steps: steps.filter(
      (step) => step.session_id === session_id && step.iteration >= Number(min_iteration),
    ),
  }),
  conversations: ({ conversations }) => ({ conversations }),
  participants: ({ participants }, { conversation_id }) => ({
    participants: participants.filter((each) => each.conversation_id === conversation_id),
  }),
  messages: ({ messages }, { conversation_id, limit = 100 }) => ({
    messages: messages
      .filter((each) => each.conversation_id === conversation_id)
      .slice(-Number(limit)),
  }),
  actions: ({ actions }, { id }) => ({ actions: actions.filter((each) => each.id === id) }),
  act: ({ actions }, { session_id, kind }) => {
    const action = anAction(`act-${actions.length + 1}`, String(session_id), {
      kind: kind as Action["kind"],
    });
    actions.push(action);
    return { action, session_id, fresh: true };
  },
  leave: ({ participants }, { participant_id }) => {
    const at = participants.findIndex((each) => each.participant_id === participant_id);
    const left = { ...(participants[at] as Participant), left_at: BEGAN + 20 };
    participants[at] = left;
    return left;
  },
  create_conversation: ({ conversations }, { title }) => {
    const made = aConversation(`c${conversations.length + 1}`, { title: String(title) });
    conversations.unshift(made);
    return made;
  },
  join: ({ participants }, { conversation_id, session_id }) => {
    const made = aParticipant(String(conversation_id), String(session_id));
    participants.push(made);
    return made;
  },
  say: ({ messages }, { conversation_id, text }) => {
    const made = aMessage(String(conversation_id), `m${messages.length + 1}`, {
      text: String(text),
    });
    messages.push(made);
    return made;
  },
};
