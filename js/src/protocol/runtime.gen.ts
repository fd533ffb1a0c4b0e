// Made from schema/runtime.json by `npm run gen`; do not edit.

/**
 * What an action asks for.
 */
export type ActionKind =
  "agent_create" | "agent_destroy" | "agent_input" | "agent_interrupt" | "agent_pause" | "agent_resume";
/**
 * Who takes part.
 */
export type ParticipantKind = "session" | "user";
/**
 * What a participant may do: observers never post.
 */
export type ParticipantRole = "member" | "observer" | "owner";
/**
 * How a session hears of posts: by an `agent_input` each, or by reading from its cursor.
 */
export type Delivery = "pull" | "push";
/**
 * How far an action is.
 */
export type ActionStatus = "claimed" | "done" | "failed" | "queued";
/**
 * How a session stands.
 */
export type SessionStatus = "created" | "done" | "error" | "paused" | "running" | "stopped" | "stopping";
/**
 * Whether anybody may post.
 */
export type ConversationStatus = "closed" | "open";
/**
 * What a participant may do: observers never post.
 */
export type ParticipantRole1 = "member" | "observer" | "owner";
/**
 * How a session hears of posts: by an `agent_input` each, or by reading from its cursor.
 */
export type Delivery1 = "pull" | "push";
/**
 * Who said something.
 */
export type SenderType = "agent" | "system" | "user";

export interface RuntimeProtocol {
  RuntimeRequestTypes: RuntimeRequestTypes;
  RuntimeResultTypes: RuntimeResultTypes;
}
export interface RuntimeRequestTypes {
  act: NewAction;
  create_conversation: NewConversation;
  join: NewParticipant;
  leave: LeaveConversation;
  say: NewMessage;
  actions: ActionQuery;
  states: StateQuery;
  steps: StepQuery;
  conversations: ConversationQuery;
  participants: ParticipantQuery;
  messages: MessageQuery;
  watch: WatchTopic;
}
/**
 * `POST actions`, and `act`: by `session_id`, or by `agent_id`, which means its latest session.
 *
 *     `agent_create` needs `agent_id`; a `session_id` of the client's makes it idempotent.
 */
export interface NewAction {
  kind: ActionKind;
  agent_id?: string | null;
  session_id?: string | null;
  urgency?: number;
  payload?: {
    [k: string]: unknown;
  };
  metadata?: {
    [k: string]: unknown;
  };
  idem_key?: string | null;
}
/**
 * `POST conversations`, and `create_conversation`.
 */
export interface NewConversation {
  title?: string;
  created_by?: string;
  /**
   * @maxItems 100
   */
  tags?: string[];
  conversation_id?: string | null;
}
/**
 * `POST conversations/ID/participants`, and `join`.
 */
export interface NewParticipant {
  conversation_id?: string;
  kind: ParticipantKind;
  user_id?: string | null;
  agent_id?: string | null;
  session_id?: string | null;
  role?: ParticipantRole;
  delivery?: Delivery;
}
/**
 * `DELETE conversations/ID/participants/PID`, and `leave`: they stay listed, with when they left.
 */
export interface LeaveConversation {
  conversation_id: string;
  participant_id: string;
}
/**
 * `POST conversations/ID/messages`, and `say`: a user posts.
 */
export interface NewMessage {
  conversation_id?: string;
  user_id?: string;
  text?: string;
  data?: {
    [k: string]: unknown;
  };
  idem_key?: string | null;
}
/**
 * `actions`, the oldest first.
 */
export interface ActionQuery {
  id?: string | null;
  idem_key?: string | null;
  session_id?: string | null;
  agent_id?: string | null;
  kind?: ActionKind | null;
  status?: ActionStatus | null;
  limit?: number;
  offset?: number;
}
/**
 * `states`, the newest first.
 */
export interface StateQuery {
  session_id?: string | null;
  agent_id?: string | null;
  status?: SessionStatus[];
  limit?: number;
  offset?: number;
}
/**
 * `steps`, by iteration and seq; of several sessions, one session after the other by their ids.
 */
export interface StepQuery {
  session_id?: string | null;
  agent_id?: string | null;
  min_iteration?: number | null;
  max_iteration?: number | null;
  after_iteration?: number | null;
  since?: number | null;
  status?: string | null;
  latest?: boolean;
  limit?: number;
  offset?: number;
}
/**
 * `conversations`, the newest first.
 */
export interface ConversationQuery {
  conversation_id?: string | null;
  status?: ConversationStatus | null;
  tag?: string | null;
  limit?: number;
  offset?: number;
}
/**
 * `participants`, in the order in which they joined.
 */
export interface ParticipantQuery {
  conversation_id: string;
  here?: boolean;
  session_id?: string | null;
}
/**
 * `messages`, the oldest first; with `last`, the last `limit` of them.
 */
export interface MessageQuery {
  conversation_id: string;
  message_id?: string | null;
  after?: string | null;
  last?: boolean;
  limit?: number;
}
/**
 * `watch` a topic: a stream of `TopicEvent`, whose first is a `begin`.
 */
export interface WatchTopic {
  topic: string;
}
export interface RuntimeResultTypes {
  act: ActionEnqueued;
  create_conversation: Conversation;
  join: Participant;
  leave: Participant;
  say: ConversationMessage;
  actions: ActionList;
  states: AgentStateList;
  steps: AgentStepList;
  conversations: ConversationList;
  participants: ParticipantList;
  messages: ConversationMessageList;
  watch: TopicEvent;
}
/**
 * The action that was enqueued; `is_new` is false where it was one that had been.
 */
export interface ActionEnqueued {
  action: Action;
  session_id: string;
  fresh: boolean;
}
/**
 * A row of the queue.
 */
export interface Action {
  id: string;
  created_at: number;
  kind: ActionKind;
  agent_id: string;
  session_id: string;
  urgency: number;
  payload: unknown;
  metadata: unknown;
  status: ActionStatus;
  owner: string | null;
  lease_until: number | null;
  attempts: number;
  idem_key: string | null;
  error: string | null;
  processed_at: number | null;
}
/**
 * A thread that users and sessions share.
 */
export interface Conversation {
  conversation_id: string;
  title: string;
  created_by: string;
  status: ConversationStatus;
  tags: string[];
  created_at: number;
}
/**
 * Somebody in a conversation.
 */
export interface Participant {
  participant_id: string;
  conversation_id: string;
  kind: ParticipantKind;
  user_id: string | null;
  agent_id: string | null;
  session_id: string | null;
  role: ParticipantRole1;
  delivery: Delivery1;
  joined_at: number;
  left_at: number | null;
}
/**
 * Something that was said; append-only.
 */
export interface ConversationMessage {
  message_id: string;
  conversation_id: string;
  created_at: number;
  sender_type: SenderType;
  user_id: string | null;
  agent_id: string | null;
  session_id: string | null;
  text: string;
  data: unknown;
  status: string | null;
  event_type: string | null;
  iteration: number | null;
  step_token: string | null;
  next_step_token: string | null;
  notes: string | null;
}
/**
 * Actions, in the order asked for.
 */
export interface ActionList {
  actions: Action[];
}
/**
 * Snapshots.
 */
export interface AgentStateList {
  states: AgentState[];
}
/**
 * The snapshot of a session, one row a (agent_id, session_id).
 *
 *     `owner` and `lease_until` are the store's alone; all else is written by the owner, whose epoch is the
 *     row's.
 */
export interface AgentState {
  agent_id: string;
  session_id: string;
  status: SessionStatus;
  iteration: number;
  step_token: string | null;
  next_step_token: string | null;
  state: unknown;
  result: unknown;
  context: unknown;
  guidance: unknown;
  last_error: string | null;
  moniker: string;
  config: unknown;
  limits: AgentLimits;
  conversation_id: string | null;
  run_id: string | null;
  step: boolean;
  ran_s: number;
  epoch: number;
  owner: string | null;
  lease_until: number | null;
  created_at: number;
  updated_at: number;
}
/**
 * When a session ends by itself, and how often a step is tried.
 */
export interface AgentLimits {
  stop_on_done: boolean | null;
  max_steps: number | null;
  max_runtime_s: number | null;
  retries: number;
  backoff_s: number;
}
/**
 * Steps.
 */
export interface AgentStepList {
  steps: AgentStep[];
}
/**
 * One iteration of a session, or a part of it; append-only, one row a (session, iteration, seq).
 */
export interface AgentStep {
  id: string;
  created_at: number;
  agent_id: string;
  session_id: string;
  iteration: number;
  event_seq: number;
  step_token: string;
  next_step_token: string | null;
  status: string;
  text: string | null;
  data: unknown;
  state: unknown;
  guidance: unknown;
  notes: string | null;
  latency_ms: number | null;
  error: string | null;
}
/**
 * Conversations.
 */
export interface ConversationList {
  conversations: Conversation[];
}
/**
 * Participants.
 */
export interface ParticipantList {
  participants: Participant[];
}
/**
 * Messages.
 */
export interface ConversationMessageList {
  messages: ConversationMessage[];
}
/**
 * Something that happened, with a number that grows by one in its topic.
 *
 *     `begin` comes first, and again where the reader fell behind: it has the last known rows and the
 *     number of the last notice before it. What is in between can be asked for: `steps` after an iteration,
 *     `messages` after a message. What happened while the rows were read may be told after them again.
 *
 *     `sessions` and `conversations` begin with the newest rows; `sessions` has states without their
 *     `state` and `context`.
 */
export interface TopicEvent {
  topic: string;
  n: number;
  event: "action" | "begin" | "conversation" | "message" | "participant" | "state" | "step";
  states: AgentState[];
  steps: AgentStep[];
  actions: Action[];
  messages: ConversationMessage[];
  participants: Participant[];
  conversations: Conversation[];
}
