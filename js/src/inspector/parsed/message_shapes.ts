/**
 * How messages look: of OpenAI's chat and responses, of Anthropic and Gemini, and as LangChain and
 * pydantic-ai dump them. The shapes don't contradict each other, so that one reader takes them all, by
 * what a message looks like rather than by which API it is said to come from. `core/message_parts.py` reads
 * the same for summaries.
 */

import type { Value } from "../json/parse";

/** Where each API has its messages, and what it says ahead of them. */
export const MESSAGE_KEYS = ["messages", "input", "contents"];
export const SYSTEM_KEYS = ["system", "instructions", "systemInstruction", "system_instruction"];

/** LangChain's types of messages, and pydantic-ai's kinds: who speaks. */
const ROLES: Record<string, string> = {
  human: "user",
  ai: "assistant",
  system: "system",
  tool: "tool",
  function: "function",
  request: "user",
  response: "assistant",
};

/** Whose part may stand alone among messages, as calls do in OpenAI's responses. */
const ALONE: Partial<Record<Block["kind"], string>> = {
  call: "assistant",
  thinking: "assistant",
  result: "tool",
};

/** A message out of what LangChain's `dumpd` and `message_to_dict` put around it. */
export function unwrap(item: Value): Value {
  const type = item.str("type") ?? "";
  const inner = type === "constructor" && item.get("lc") ? item.get("kwargs") : undefined;
  const data = type in ROLES ? item.get("data") : undefined;
  return inner?.members ? inner : data?.members ? data : item;
}

/** Who speaks, in the API's own word; undefined where an item is no message. */
export function roleOf(item: Value): string | undefined {
  const inner = unwrap(item);
  const role = inner.str("role");
  if (role !== undefined) return role;
  if (inner.get("parts")?.items) return ROLES[inner.str("kind") ?? ""] ?? "user";
  if (inner.get("content")) {
    const spoken = ROLES[langchainType(inner) ?? ""] ?? ROLES[langchainClass(item)];
    if (spoken !== undefined) return spoken;
  }
  return inner.str("type") === undefined ? undefined : ALONE[readBlock(inner).kind];
}

/** `human`, also of a chunk. */
function langchainType(message: Value): string | undefined {
  return message
    .str("type")
    ?.replace(/MessageChunk$/, "")
    .toLowerCase();
}

/** The same from the name of the class in a `dumpd`. */
function langchainClass(item: Value): string {
  const name = item.get("id")?.items?.at(-1)?.string ?? "";
  return name.replace(/Message(Chunk)?$/, "").toLowerCase();
}

/** Whether a value is a message that a framework dumped, and no data that look like one. */
export function isFrameworkMessage(value: Value): boolean {
  if (!value.members) return false;
  const inner = unwrap(value);
  if (inner.get("parts")?.items) return ["request", "response"].includes(inner.str("kind") ?? "");
  if (!inner.get("content") || roleOf(value) === undefined) return false;
  const marked = ["additional_kwargs", "tool_call_id", "response_metadata"];
  return inner !== value || marked.some((name) => inner.get(name));
}

/** What a message says: OpenAI's and Anthropic's content, Gemini's and pydantic-ai's parts. */
export function contentOf(message: Value): Value | undefined {
  return message.get("content") ?? message.get("parts");
}

/** Whether an item is a call, a thought or a result that stands among messages, and no message itself. */
export function standsAlone(item: Value): boolean {
  const message = unwrap(item);
  return ["role", "content", "parts", "tool_calls"].every((name) => !message.get(name));
}

/** The calls that stand beside a message's content. */
export function callsBeside(message: Value): Value[] {
  const several = ["tool_calls", "invalid_tool_calls"].flatMap(
    (name) => message.get(name)?.items ?? [],
  );
  const one = message.get("function_call"); // OpenAI's first form
  return one && !one.isNull ? [...several, one] : several;
}

// ---- One block of a message's content.

export interface Call {
  readonly kind: "call";
  readonly name: string | undefined;
  /** An object, or a text that holds one. */
  readonly args: Value | undefined;
  readonly id: string | undefined;
}

export interface Result {
  readonly kind: "result";
  readonly name: string | undefined;
  readonly content: Value | undefined;
  readonly id: string | undefined;
  readonly failed: boolean;
}

export type Block =
  | { readonly kind: "text" | "refusal" | "thinking"; readonly text: Value | undefined }
  | Call
  | Result
  /** What holds content itself: a part of pydantic-ai's. */
  | { readonly kind: "content"; readonly content: Value; readonly role: string }
  | { readonly kind: "media"; readonly type: string; readonly source: Value }
  | { readonly kind: "other" };

const TEXTS = new Set(["text", "input_text", "output_text", "summary_text", "reasoning_text"]);
const THINKING = new Set(["thinking", "redacted_thinking", "reasoning"]);
const CALL = /^(\w+_)?(tool_use|call)(_chunk)?$/;
const RESULT = /^(\w+_)?(tool_result|call_output|tool_call_result)$/;
const MEDIA = /image|audio|video|file|document|binary/;
const OTHER = { kind: "other" } as const;

export function readBlock(block: Value): Block {
  const part = block.str("part_kind");
  if (part !== undefined) return readPydanticPart(block, part);
  const type = block.str("type") ?? block.str("kind");
  if (type === undefined) return readGeminiPart(block);
  if (TEXTS.has(type)) return { kind: "text", text: block.get("text") };
  if (type === "refusal") return { kind: "refusal", text: block.get("refusal") };
  if (THINKING.has(type))
    return { kind: "thinking", text: block.get("thinking") ?? block.get("text") };
  if (CALL.test(type)) return readCall(block);
  if (RESULT.test(type)) return readResult(block);
  if (!MEDIA.test(type)) return OTHER;
  return { kind: "media", type, source: block.get("source") ?? block.get(type) ?? block };
}

const ARGUMENTS = ["arguments", "input", "args", "action", "queries", "code"];

/** A tool call of any API. */
export function readCall(call: Value): Call {
  const inner = call.get("function") ?? call.get("custom") ?? call;
  const own = /^(?!function|custom_tool|tool)(\w+)_call$/.exec(call.str("type") ?? "")?.[1];
  const args = ARGUMENTS.map((name) => inner.get(name)).find((one) => one !== undefined);
  const id = call.str("call_id") ?? call.str("tool_call_id") ?? call.str("id");
  const name = inner.str("name") ?? inner.str("tool_name") ?? own;
  return { kind: "call", name, args, id };
}

function readResult(block: Value): Result {
  const response = block.get("response"); // Gemini's, around what a tool returned
  const only = response?.members?.length === 1 ? response : undefined;
  return {
    kind: "result",
    name: block.str("name") ?? block.str("tool_name"),
    content:
      block.get("content") ??
      block.get("output") ??
      only?.get("result") ??
      only?.get("output") ??
      response,
    id: block.str("tool_use_id") ?? block.str("call_id") ?? block.str("tool_call_id"),
    failed: hasFailed(block),
  };
}

/** Whether a result says that its tool failed, as Anthropic and LangChain have it. */
export function hasFailed(result: Value): boolean {
  return result.get("is_error")?.literal === "true" || result.str("status") === "error";
}

function readPydanticPart(part: Value, kind: string): Block {
  const content = part.get("content");
  if (kind.endsWith("tool-call")) return readCall(part);
  const retried = kind === "retry-prompt" && part.str("tool_name") !== undefined;
  if (kind.endsWith("tool-return") || retried)
    return { ...readResult(part), failed: retried || part.str("outcome") === "failed" };
  if (kind === "thinking") return { kind: "thinking", text: content };
  const role = kind === "system-prompt" ? "system" : "user";
  return content ? { kind: "content", content, role } : OTHER;
}

/** A part without a type: Gemini's and Bedrock's, by the one member that it has. */
function readGeminiPart(part: Value): Block {
  const member = (...names: string[]) =>
    names.map((name) => part.get(name)).find((one) => one?.members);
  const text = part.get("text");
  if (text?.string !== undefined)
    return { kind: part.get("thought")?.literal === "true" ? "thinking" : "text", text };
  const call = member("functionCall", "function_call", "toolUse");
  if (call) return readCall(call);
  const given = member("functionResponse", "function_response", "toolResult");
  if (given) return readResult(given);
  const media = member("inlineData", "inline_data", "fileData", "file_data");
  return media ? { kind: "media", type: "file", source: media } : OTHER;
}
