/** Messages of a chat, and a model that plays them, without a line. */
import { signal } from "@preact/signals";
import type {
  ChatAgentInfo,
  ChatImage,
  ChatSessionInfo,
  ChatSourceText,
  ShownMessage,
  TranscriptModel,
} from "../../src/chat/types";

export const BEGAN = 1_763_900_000;

export function aChatMessage(id: string, changes: Partial<ShownMessage> = {}): ShownMessage {
  return {
    id,
    session_id: "s",
    role: "assistant",
    type: "MESSAGE",
    content: "",
    format: null,
    language: null,
    agent_name: changes.role === "user" ? null : "coder",
    created_at: BEGAN,
    final: !changes.streaming,
    streaming: false,
    media_type: null,
    data: null,
    path: null,
    choices: [],
    chosen: null,
    call_id: null,
    name: null,
    arguments: null,
    result: null,
    ok: null,
    details: null,
    ...changes,
  };
}

export function anAgent(name: string, changes: Partial<ChatAgentInfo> = {}): ChatAgentInfo {
  return {
    name,
    role: "AGENT_EXECUTOR",
    type: "TOOL_CALLING",
    phase: "created",
    description: "",
    run_id: null,
    notice: "",
    ...changes,
  };
}

export function aSession(changes: Partial<ChatSessionInfo> = {}): ChatSessionInfo {
  return {
    id: "s",
    title: "",
    state: "STATE_STOP",
    ending: "done",
    agents: [anAgent("coder")],
    default_agent: "coder",
    speaking: null,
    waiting: null,
    halted: false,
    auto_chat: false,
    auto_turns: 0,
    auto_chat_max: 3,
    run_id: null,
    no_debugger: null,
    created_at: BEGAN,
    updated_at: BEGAN,
    messages: 0,
    kept: 0,
    window_from: null,
    live: true,
    ...changes,
  };
}

/** What a transcript is drawn from, in a test's hand. */
export class FakeTranscript implements TranscriptModel {
  readonly messages = signal<readonly ShownMessage[]>([]);
  readonly info = signal<ChatSessionInfo | null>(null);
  readonly readOnlyReason = signal<string | null>(null);
  readonly hasEarlier = signal(false);
  readonly loadingEarlier = signal(false);
  readonly sent = signal(0);
  readonly chosen: [string, string][] = [];
  /** Why the next choice is refused. */
  refuses: string | null = null;
  readonly asked: string[] = [];
  pictures: Record<string, ChatImage | Error> = {};
  sources: Record<string, ChatSourceText | Error> = {};

  constructor(messages: readonly ShownMessage[] = [], info: Partial<ChatSessionInfo> = {}) {
    this.messages.value = messages;
    const n = messages.length;
    this.info.value = aSession({ messages: n, kept: n, ...info });
  }

  /** A message is there, or is another now. */
  say(message: ShownMessage): void {
    const before = this.messages.peek();
    const known = before.some(({ id }) => id === message.id);
    this.messages.value = known
      ? before.map((each) => (each.id === message.id ? message : each))
      : [...before, message];
  }

  async choose(messageId: string, choice: string): Promise<string | null> {
    this.chosen.push([messageId, choice]);
    return this.refuses;
  }

  loadImage(messageId: string): Promise<ChatImage> {
    return this.#fetch("picture", messageId, this.pictures);
  }

  loadSource(messageId: string): Promise<ChatSourceText> {
    return this.#fetch("source", messageId, this.sources);
  }

  async loadEarlier(): Promise<void> {
    this.asked.push("earlier");
  }

  async #fetch<T>(what: string, id: string, from: Record<string, T | Error>): Promise<T> {
    this.asked.push(`${what} ${id}`);
    const found = from[id];
    if (found === undefined) return new Promise(() => {});
    if (found instanceof Error) throw found;
    return found;
  }
}
