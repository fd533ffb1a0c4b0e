// Made from schema/chat.json by `npm run gen`; do not edit.

/**
 * The state of a session: INIT, then RUNNING and STOP in turn.
 */
export type State = "STATE_INIT" | "STATE_RUNNING" | "STATE_STOP";
/**
 * The outcome of a turn.
 */
export type TurnEnding = "done" | "error" | "stopped";
/**
 * An agent's way to call tools: the model's function calling, or JSON in the model's text.
 */
export type AgentType = "STRUCTURED_CHAT" | "TOOL_CALLING";
/**
 * The phase of an agent in its session.
 */
export type ChatAgentPhase = "created" | "ended" | "running";

export interface ChatProtocol {
  ChatRequestTypes: ChatRequestTypes;
  ChatResultTypes: ChatResultTypes;
}
export interface ChatRequestTypes {
  watch: ChatSessionRequest;
  send: SendChatMessage;
  stop: ChatSessionRequest;
  choose: ChooseOption;
  set: UpdateChatSession;
  create: CreateChatSession;
  open: ChatSessionRequest;
  remove: ChatSessionRequest;
  earlier: GetEarlierMessages;
  picture: ChatMessageRequest;
  source: ChatMessageRequest;
}
/**
 * `watch` (a stream of `NumberedChatEvent`), `open`, `stop`, `remove` a session.
 */
export interface ChatSessionRequest {
  session: string;
}
/**
 * `send` a user's message; answered by its `Message`.
 */
export interface SendChatMessage {
  session: string;
  content: string;
  agent_name?: string | null;
  key?: string | null;
}
/**
 * `choose`: answer a CONFIRMATION.
 */
export interface ChooseOption {
  session: string;
  message: string;
  choice: string;
}
/**
 * `set` what a person may set of a session; answered by its `ChatSessionInfo`. None leaves it.
 */
export interface UpdateChatSession {
  session: string;
  title?: string | null;
  auto_chat?: boolean | null;
  auto_chat_max?: number | null;
  default_agent?: string | null;
}
/**
 * `create` a session; answered by its `ChatSessionInfo`.
 */
export interface CreateChatSession {
  title?: string;
}
/**
 * `earlier`: messages of the transcript before one, the newest of them.
 */
export interface GetEarlierMessages {
  session: string;
  before: string;
  limit?: number;
}
/**
 * `picture`: the bytes of an IMAGE; `source`: the text of a CODE that names a file.
 */
export interface ChatMessageRequest {
  session: string;
  message: string;
}
export interface ChatResultTypes {
  watch: NumberedChatEvent;
  watch_sessions: ChatSessionList;
  send: Message;
  choose: Message;
  set: ChatSessionInfo;
  create: ChatSessionInfo;
  open: ChatSessionInfo;
  earlier: ChatMessagePage;
  picture: ChatImage;
  source: ChatSourceText;
}
/**
 * An item of `watch`: an event, numbered from 1 without gaps on each stream.
 */
export interface NumberedChatEvent {
  n: number;
  event:
    | ChatSessionSnapshot
    | ChatSessionChanged
    | ChatMessageChanged
    | ChatMessageDelta
    | ChatAgentChanged
    | ChatSessionRemoved;
}
/**
 * A session's state: a stream's first event, and sent again after a client missed events.
 */
export interface ChatSessionSnapshot {
  event: "begin";
  session: ChatSessionInfo;
  messages: Message[];
}
/**
 * A session, without its messages.
 */
export interface ChatSessionInfo {
  id: string;
  title: string;
  state: State;
  ending: TurnEnding | null;
  agents: ChatAgentInfo[];
  default_agent: string | null;
  speaking: string | null;
  waiting: string | null;
  halted: boolean;
  auto_chat: boolean;
  auto_turns: number;
  auto_chat_max: number;
  run_id: string | null;
  no_debugger: string | null;
  created_at: number;
  updated_at: number;
  messages: number;
  kept: number;
  window_from: string | null;
  live: boolean;
}
/**
 * An agent of a session.
 */
export interface ChatAgentInfo {
  name: string;
  role: string;
  type: AgentType;
  phase: ChatAgentPhase;
  description: string;
  run_id: string | null;
  notice: string;
}
/**
 * One message of a conversation. Which fields its type needs: `chat.message_types`.
 *
 *     `final` is false while more of it may come: text, a call's result, a confirmation's choice. A stream
 *     of messages gives each new piece as a message of the same id with `final` false, whose `content` is
 *     the piece alone, and at last the whole with `final` true.
 */
export interface Message {
  id: string;
  session_id: string;
  role: "assistant" | "computer" | "system" | "user";
  type: string;
  content: string;
  format: string | null;
  language: string | null;
  agent_name: string | null;
  created_at: number;
  final: boolean;
  media_type: string | null;
  data: string | null;
  path: string | null;
  choices: string[];
  chosen: string | null;
  call_id: string | null;
  name: string | null;
  arguments: unknown;
  result: unknown;
  ok: boolean | null;
  details: unknown;
}
/**
 * A session's state, agents or figures are others now.
 */
export interface ChatSessionChanged {
  event: "session";
  session: ChatSessionInfo;
}
/**
 * A message is there, or is another now: whole, as it is so far.
 */
export interface ChatMessageChanged {
  event: "said";
  message: Message;
}
/**
 * More of a message's content.
 */
export interface ChatMessageDelta {
  event: "delta";
  session_id: string;
  message_id: string;
  text: string;
}
/**
 * An agent was created, begins to answer, or has ended.
 */
export interface ChatAgentChanged {
  event: "agent";
  session_id: string;
  agent: ChatAgentInfo;
  error: string | null;
}
/**
 * A session and its transcript are gone.
 */
export interface ChatSessionRemoved {
  event: "removed";
  session_id: string;
}
/**
 * An item of `watch_sessions`: all sessions, the newest first, whenever one has changed.
 */
export interface ChatSessionList {
  sessions: ChatSessionInfo[];
}
/**
 * The answer to `earlier`, oldest first; and whether there are older ones.
 */
export interface ChatMessagePage {
  messages: Message[];
  more: boolean;
}
/**
 * An image that may be shown: its bytes say of themselves that they are of this type.
 */
export interface ChatImage {
  media_type: string;
  data: string;
}
/**
 * The text of an allowed file.
 */
export interface ChatSourceText {
  text: string;
}
