/** Which rows a transcript has, and how roles and speakers are said. Pure. */

import type { IconName } from "../../icons/icon";
import { escapeInvisible } from "../../view/format";
import type { ChatAgentInfo, ChatSessionInfo, ShownMessage } from "../types";

/** What is said across the transcript: where agents read from, and where memory begins. */
export type Divider = "window" | "memory";

export type Row =
  | { readonly kind: "message"; readonly message: ShownMessage; readonly head: boolean }
  | { readonly kind: "divider"; readonly divider: Divider };

type Bounds = Pick<ChatSessionInfo, "kept" | "window_from">;

/** After a pause this long the time is worth saying again, in seconds. */
const PAUSE = 300;

/** The messages, oldest first, as rows. */
export function rowsOf(messages: readonly ShownMessage[], bounds: Bounds | null): Row[] {
  const rows: Row[] = [];
  const memory = bounds ? messages.length - bounds.kept : 0;
  messages.forEach((message, at) => {
    const before = messages[at - 1];
    const divider = before && dividerAt(message, at === memory, bounds);
    if (divider) rows.push({ kind: "divider", divider });
    rows.push({
      kind: "message",
      message,
      head: !before || divider !== null || isOther(before, message),
    });
  });
  return rows;
}

/** The window lies within memory: where both begin at once, it says more. */
function dividerAt(message: ShownMessage, memory: boolean, bounds: Bounds | null): Divider | null {
  if (bounds !== null && message.id === bounds.window_from) return "window";
  return memory ? "memory" : null;
}

/** Whether it needs a head of its own after the message before. */
function isOther(before: ShownMessage, message: ShownMessage): boolean {
  if (speakerKey(before) !== speakerKey(message)) return true;
  return message.created_at - before.created_at > PAUSE;
}

/** Who speaks. What the computer puts out for an agent belongs to that agent. */
function speakerKey({ role, format, agent_name }: ShownMessage): string {
  const agents = role === "assistant" || role === "computer";
  if (agents && agent_name !== null) return `agent ${agent_name}`;
  if (role === "system") return format === "error" ? "error" : "system"; // AutoChat makes no errors
  return `user ${agent_name ?? ""}`;
}

/** How many messages come after one; 0 where it isn't there. */
export function countAfter(messages: readonly ShownMessage[], id: string | null): number {
  const at = messages.findLastIndex((message) => message.id === id);
  return at === -1 ? 0 : messages.length - 1 - at;
}

// ---- How roles, speakers and counts are said in the transcript. Pure.

const ROLES: Record<string, string> = {
  AGENT_EXECUTOR: "executor",
  LLM_PLANNER: "planner",
  SUPERVISOR: "supervisor",
  THOUGHT: "thought",
  CREW: "crew",
  OTHER: "other",
};

/** An agent's role in a word; one that an extension added is its own word. */
export function roleLabel(role: string): string {
  return Object.hasOwn(ROLES, role) ? (ROLES[role] as string) : escapeInvisible(role);
}

export interface Speaker {
  readonly name: string;
  readonly icon: IconName;
  readonly style: "user" | "agent" | "computer" | "system";
  /** An agent's role, as its word. */
  readonly role: string | null;
  /** Whom it is said to, where that was said. */
  readonly recipient: string | null;
}

/** Who says a message. */
export function speakerOf(message: ShownMessage, agents: readonly ChatAgentInfo[]): Speaker {
  const { role, format, agent_name } = message;
  const name = agent_name === null ? null : escapeInvisible(agent_name);
  if (role === "user")
    return { name: "You", icon: "user", style: "user", role: null, recipient: name };
  if (role === "system" && format === "error") {
    return { name: "Error", icon: "crash", style: "system", role: null, recipient: null };
  }
  if (role === "system") {
    return { name: "AutoChat", icon: "retry", style: "system", role: null, recipient: name };
  }
  if (name === null && role === "computer") {
    return { name: "Computer", icon: "system", style: "computer", role: null, recipient: null };
  }
  const agent = agents.find((each) => each.name === agent_name);
  return {
    name: name ?? "Agent",
    icon: "agent",
    style: "agent",
    role: agent?.role ?? null,
    recipient: null,
  };
}
