// Made from schema/runtime.json by `npm run gen`; do not edit.

/**
 * The kind of an action.
 */
export type ActionKind =
  "agent_create" | "agent_destroy" | "agent_input" | "agent_interrupt" | "agent_pause" | "agent_resume";
/**
 * The kind of a conversation's participant.
 */
export type ParticipantKind = "session" | "user";
/**
 * The role of a participant: observers never post.
 */
export type ParticipantRole = "member" | "observer" | "owner";
/**
 * The way posts reach a session: an `agent_input` for each, or reads from the session's cursor.
 */
export type Delivery = "pull" | "push";
/**
 * The posts that a session receives: people's only, or the other sessions' too.
 */
export type Hearing = "all" | "users";
/**
 * A session's status in a list of many, divided further by what a person can do.
 */
export type FleetStatus =
  "created" | "done" | "error" | "halted" | "paused" | "quarantined" | "retrying" | "running" | "stopped" | "stopping";
/**
 * The state of an action. A failed action is a dead letter until a person retries or discards it.
 */
export type ActionStatus = "claimed" | "discarded" | "done" | "failed" | "queued" | "retried";
/**
 * The status of a session.
 */
export type SessionStatus = "created" | "done" | "error" | "paused" | "running" | "stopped" | "stopping";
/**
 * The status of a conversation: only an open conversation accepts posts.
 */
export type ConversationStatus = "closed" | "open";
/**
 * The role of a participant: observers never post.
 */
export type ParticipantRole1 = "member" | "observer" | "owner";
/**
 * The way posts reach a session: an `agent_input` for each, or reads from the session's cursor.
 */
export type Delivery1 = "pull" | "push";
/**
 * The posts that a session receives: people's only, or the other sessions' too.
 */
export type Hearing1 = "all" | "users";
/**
 * The kind of a message's sender.
 */
export type SenderType = "agent" | "system" | "user";
/**
 * The kind of an event.
 */
export type EventKind =
  "custom" | "debug_message" | "llm_query" | "program_finished" | "program_started" | "tool_invocation";
/**
 * The side of an event that a halt point stands on.
 */
export type EventSide = "begin" | "end";

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
  retry: RetryAgentSession;
  retry_action: RetryFailedAction;
  discard_action: DiscardAction;
  fleet: FleetQuery;
  halt_runs: HaltRuns;
  continue_runs: ContinueRuns;
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
 *
 *     `not_before` delays it; `every` or `cron` makes it periodic: the first occurrence is at `not_before`,
 *     or at once with `every`, and each further one is enqueued where the one before ends. A periodic
 *     `agent_create` makes a session each time. Times are UTC.
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
  not_before?: number | null;
  every?: number | null;
  cron?: string | null;
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
  hears?: Hearing;
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
 * `POST agent-state/ID/retry`, and `retry`: a session that ended as an error goes on.
 */
export interface RetryAgentSession {
  session_id: string;
}
/**
 * `POST actions/ID/retry`, and `retry_action`: what an action asked for is asked for again.
 */
export interface RetryFailedAction {
  id: string;
}
/**
 * `discard_action`: a failed action is no dead letter any more; a delayed one is cancelled, and a
 *     periodic one, named by any of its occurrences, comes no more.
 */
export interface DiscardAction {
  id: string;
  now?: number | null;
}
/**
 * `fleet`: counts of all sessions, and a page of those that pass the filter, the newest first.
 */
export interface FleetQuery {
  status?: FleetStatus[];
  moniker?: string | null;
  text?: string | null;
  error?: string | null;
  created_until?: number | null;
  limit?: number;
  offset?: number;
  failed_action?: string | null;
  halted_runs?: string[];
}
/**
 * `halt_runs`: each live run halts at its next halt point.
 */
export interface HaltRuns {}
/**
 * `continue_runs`: halted runs go on, but for halt points that ask for an approval.
 */
export interface ContinueRuns {
  runs?: string[] | null;
  but?: string[];
  halted_until?: number | null;
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
  series_id?: string | null;
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
 * `participants`, in the order in which they joined; of a conversation or, in the store, of all.
 */
export interface ParticipantQuery {
  conversation_id?: string | null;
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
  retry: AgentState;
  retry_action: ActionList;
  discard_action: ActionList;
  fleet: FleetSummary;
  halt_runs: RunsChanged;
  continue_runs: RunsChanged;
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
  retry_of: string | null;
  not_before: number | null;
  every: number | null;
  cron: string | null;
  series_id: string | null;
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
  hears: Hearing1;
  joined_at: number;
  left_at: number | null;
}
/**
 * A message of a conversation; append-only.
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
  moniker_version: string | null;
  /**
   * @maxItems 100
   */
  requires: string[];
  config: unknown;
  limits: AgentLimits;
  conversation_id: string | null;
  run_id: string | null;
  step: boolean;
  ran_s: number;
  epoch: number;
  attempt: number;
  next_try_at: number | null;
  losses: StepLoss[];
  is_sharing: boolean;
  is_pausing: boolean;
  owner: string | null;
  lease_until: number | null;
  created_at: number;
  updated_at: number;
}
/**
 * The limits that end a session, and the number of tries of a step.
 */
export interface AgentLimits {
  stop_on_done: boolean | null;
  max_steps: number | null;
  max_runtime_s: number | null;
  retries: number;
  backoff_s: number;
  max_attempts: number;
  step_timeout_s: number | null;
}
/**
 * A step was begun and never ended, because its worker did.
 */
export interface StepLoss {
  worker: string;
  at: number;
  ending: string | null;
  is_shared: boolean;
}
/**
 * Actions, in the order asked for.
 */
export interface ActionList {
  actions: Action[];
  more: boolean;
}
/**
 * The state of all agents of a Core.
 */
export interface FleetSummary {
  at: number;
  report: FleetReport;
  inbox: HaltedRun[];
  halted: number;
  going: number;
  steps_per_minute: number;
  usage: Usage;
  workers: number;
}
/**
 * The store's answer to a `FleetQuery`, all of it read at one moment.
 */
export interface FleetReport {
  counts: FleetCount[];
  errors: ErrorGroup[];
  failed_actions: ErrorGroup[];
  sessions: FleetSession[];
  matching: number;
  actions: FailedAction[];
  halted: FleetSession[];
}
/**
 * The number of a moniker's sessions that have one status.
 */
export interface FleetCount {
  status: FleetStatus;
  moniker: string;
  count: number;
}
/**
 * Errors that differ only in numbers and ids.
 */
export interface ErrorGroup {
  key: string;
  message: string;
  count: number;
}
/**
 * A session in a list.
 */
export interface FleetSession {
  agent_id: string;
  session_id: string;
  status: FleetStatus;
  moniker: string;
  iteration: number;
  run_id: string | null;
  words: string;
  last_error: string | null;
  attempt: number;
  next_try_at: number | null;
  losses: StepLoss[];
  is_pausing: boolean;
  created_at: number;
  updated_at: number;
}
/**
 * A dead letter, without its payload.
 */
export interface FailedAction {
  id: string;
  kind: ActionKind;
  agent_id: string;
  session_id: string;
  error: string;
  created_at: number;
}
/**
 * A run that waits for a person, of a background session or of any other agent.
 */
export interface HaltedRun {
  run_id: string;
  name: string;
  program: string;
  halted_at: number | null;
  kind: EventKind;
  side: EventSide;
  where: string;
  summary: string;
  pending: number;
  is_approval: boolean;
  breakpoints: number;
  agent_id: string | null;
  session_id: string | null;
}
/**
 * The tokens and the cost of a query.
 */
export interface Usage {
  input_tokens: number | null;
  output_tokens: number | null;
  cost: number | null;
  estimated: boolean;
}
/**
 * The number of runs that `halt_runs` or `continue_runs` changed.
 */
export interface RunsChanged {
  changed: number;
  approvals: number;
}
/**
 * Snapshots.
 */
export interface AgentStateList {
  states: AgentState[];
  more: boolean;
}
/**
 * Steps.
 */
export interface AgentStepList {
  steps: AgentStep[];
  more: boolean;
}
/**
 * One iteration of a session, or a part of it; append-only: a row per (session, iteration, seq).
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
  more: boolean;
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
  more: boolean;
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
