/** Lists of messages: roles, names, and what each says. */

import type { Value } from "../json/node";
import { type Calls, readBlock, readCall, readContent } from "./parts";
import type { Message, Part } from "./types";

/** LangChain names its messages by type. */
const ROLES: Record<string, string> = {
  human: "user",
  ai: "assistant",
  system: "system",
  tool: "tool",
};

/** Items of OpenAI's responses API that stand beside messages, and who says them. */
const ITEM_ROLES: Record<string, string> = {
  function_call: "assistant",
  custom_tool_call: "assistant",
  reasoning: "assistant",
  function_call_output: "tool",
  custom_tool_call_output: "tool",
};

/** A list of messages, or undefined where it holds anything else. */
export function readMessages(
  items: readonly Value[],
  calls: Calls = new Map(),
): Message[] | undefined {
  const messages: Message[] = [];
  for (const item of items) {
    const message = readMessage(item, calls);
    if (message === undefined) return undefined;
    messages.push(message);
  }
  return messages;
}

/** One message of any API, or undefined where it isn't one. */
export function readMessage(item: Value, calls: Calls): Message | undefined {
  const type = item.str("type") ?? "";
  const alone = ITEM_ROLES[type];
  if (alone !== undefined) return named(item, alone, readBlock(item, calls));
  const role = item.str("role") ?? (item.get("content") ? ROLES[type] : undefined);
  if (role === undefined) return undefined;
  const parts = [
    ...thoughts(item),
    ...readContent(item.get("content"), calls),
    ...refusal(item),
    ...toolCalls(item, calls),
  ];
  return named(item, speaker(role, parts), parts, callName(item, calls));
}

function named(item: Value, role: string, parts: Part[], name?: string): Message {
  const result = parts.length === 1 && parts[0]?.kind === "result" ? parts[0] : undefined;
  return {
    role,
    name: name ?? (role === "tool" ? result?.name : undefined),
    // A result alone needs no frame inside its message, unless it says more than the message.
    parts: role === "tool" && result && !result.failed ? result.parts : parts,
    source: item.literal,
  };
}

/** Anthropic's API has the user hand over the tools' results: whoever reads wants to see the tools. */
function speaker(role: string, parts: readonly Part[]): string {
  const results = parts.length > 0 && parts.every((part) => part.kind === "result");
  return role === "user" && results ? "tool" : role;
}

function callName(item: Value, calls: Calls): string | undefined {
  const id = item.str("tool_call_id");
  return item.str("name") ?? (id === undefined ? undefined : calls.get(id));
}

function thoughts(item: Value): Part[] {
  const text = item.str("reasoning_content") ?? item.str("reasoning");
  return text ? [{ kind: "thinking", text }] : [];
}

function refusal(item: Value): Part[] {
  const text = item.str("refusal");
  return text ? [{ kind: "refusal", text }] : [];
}

function toolCalls(item: Value, calls: Calls): Part[] {
  const several = item.get("tool_calls")?.items ?? [];
  const one = item.get("function_call"); // OpenAI's first form
  return [...several, ...(one && !one.isNull ? [one] : [])].map((call) => readCall(call, calls));
}
