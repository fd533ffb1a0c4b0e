/** How roles, speakers and counts are said in the transcript. Pure. */
import type { IconName } from "../../icons/icon";
import { visible } from "../../view/visible";
import type { AgentInfo, ShownMessage } from "../types";

const ROLES: Record<string, string> = {
  AGENT_EXECUTOR: "executor",
  LLM_PLANNER: "planner",
  SUPERVISOR: "supervisor",
  THOUGHT: "thought",
  CREW: "crew",
  OTHER: "other",
};

/** An agent's role in a word; one that an extension added is its own word. */
export function roleWord(role: string): string {
  return Object.hasOwn(ROLES, role) ? (ROLES[role] as string) : visible(role);
}

export interface Speaker {
  readonly name: string;
  readonly icon: IconName;
  readonly look: "user" | "agent" | "computer" | "system";
  /** An agent's role, as its word. */
  readonly role: string | null;
  /** Whom it is said to, where that was said. */
  readonly to: string | null;
}

/** Who says a message. */
export function speakerOf(message: ShownMessage, agents: readonly AgentInfo[]): Speaker {
  const { role, format, agent_name } = message;
  const name = agent_name === null ? null : visible(agent_name);
  if (role === "user") return { name: "You", icon: "user", look: "user", role: null, to: name };
  if (role === "system" && format === "error") {
    return { name: "Error", icon: "crash", look: "system", role: null, to: null };
  }
  if (role === "system") {
    return { name: "AutoChat", icon: "retry", look: "system", role: null, to: name };
  }
  if (name === null && role === "computer") {
    return { name: "Computer", icon: "system", look: "computer", role: null, to: null };
  }
  const agent = agents.find((each) => each.name === agent_name);
  return {
    name: name ?? "Agent",
    icon: "agent",
    look: "agent",
    role: agent?.role ?? null,
    to: null,
  };
}
