/** Bodies to readings, by what their row is. */

import type { MessageBody } from "../../model/model";
import { parse, Value } from "../json/parse";
import type { ContentShape } from "../title";
import {
  type Calls,
  type Entry,
  type Message,
  type ParsedContent,
  type Part,
  parseArguments,
  parseBlock,
  parseCall,
  parseParts,
  type Tokens,
  type Tool,
} from "./parts";

/** Read a body. What no shape fits is shown as the data that it is, never refused. */
export function parseContent(shape: ContentShape, value: Value): ParsedContent {
  return PARSERS[shape](value) ?? parseAny(value);
}

const PARSERS: Record<ContentShape, (value: Value) => ParsedContent | undefined> = {
  prompt: parsePrompt,
  answer: parseAnswer,
  call: parseToolCall,
  result: parseToolResult,
  note: () => undefined,
};

/** A text, named values, or data. */
function parseAny(value: Value): ParsedContent {
  const text = value.string;
  if (text !== undefined) return { kind: "text", text };
  const entries = entriesOf(value);
  return entries && entries.length > 0 ? { kind: "entries", entries } : { kind: "data", value };
}

function entriesOf(value: Value): Entry[] | undefined {
  return value.members?.map(([name, one]) => ({ name, value: one }));
}

// ---- prompts ----------------------------------------------------------------------------------------

/** Where each API keeps its messages, and what it says ahead of them. */
const MESSAGES = ["messages", "input"];
const AHEAD = ["system", "instructions"];

function parsePrompt(value: Value): ParsedContent | undefined {
  const items = value.items;
  if (items) {
    const messages = items.length > 0 ? parseMessages(items) : undefined;
    return messages && { kind: "prompt", messages, settings: [], tools: [] };
  }
  const key = MESSAGES.find((name) => value.get(name) !== undefined);
  const list = key === undefined ? undefined : value.get(key);
  const messages = list && parseSpoken(list);
  if (!messages) return undefined;
  const ahead = AHEAD.flatMap((name) => {
    const one = value.get(name);
    return one && !one.isNull ? [spoken("system", one)] : [];
  });
  const settings = (entriesOf(value) ?? []).filter(({ name }) => !isSpoken(name, key));
  return { kind: "prompt", messages: [...ahead, ...messages], settings, tools: parseTools(value) };
}

function parseSpoken(list: Value): Message[] | undefined {
  if (list.string !== undefined) return [spoken("user", list)];
  return list.items && parseMessages(list.items);
}

function isSpoken(name: string, key: string | undefined): boolean {
  return name === key || AHEAD.includes(name) || name === "tools";
}

function spoken(role: string, value: Value): Message {
  return { role, name: undefined, parts: parseParts(value, new Map()), source: value.literal };
}

function parseTools(value: Value): Tool[] {
  return (value.get("tools")?.items ?? []).map((tool) => {
    const inner = tool.get("function") ?? tool;
    const name = inner.str("name") ?? inner.str("type") ?? tool.string ?? "?";
    return { name, about: inner.str("description"), value: tool };
  });
}

// ---- answers ----------------------------------------------------------------------------------------

function parseAnswer(value: Value): ParsedContent | undefined {
  const calls: Calls = new Map();
  const messages = answerMessages(value, calls);
  if (!messages) return undefined;
  const choice = value.get("choices")?.items?.[0];
  const ended = choice?.str("finish_reason") ?? value.str("stop_reason") ?? value.str("status");
  return { kind: "answer", messages, tokens: parseTokens(value.get("usage")), ended };
}

function answerMessages(value: Value, calls: Calls): Message[] | undefined {
  const choices = value.get("choices")?.items;
  if (choices && choices.length > 0)
    return all(choices.map((choice) => parseChoice(choice, calls)));
  const output = value.get("output")?.items; // OpenAI's responses
  if (output && output.length > 0) return parseMessages(output, calls);
  if (
    value.items?.every((item) => item.str("type") !== undefined && item.str("role") === undefined)
  ) {
    const message = spoken("assistant", value); // Anthropic's bare list of blocks
    return message.parts.length > 0 && message.parts.every((part) => part.kind !== "data")
      ? [message]
      : undefined;
  }
  if (value.items) return value.items.length > 0 ? parseMessages(value.items, calls) : undefined;
  const message = parseMessage(value, calls);
  return message && [message];
}

function parseChoice(choice: Value, calls: Calls): Message | undefined {
  const message = choice.get("message");
  if (message) return parseMessage(message, calls);
  const text = choice.get("text"); // completions without chat
  return text && spoken("assistant", text);
}

function all<T>(items: (T | undefined)[]): T[] | undefined {
  return items.every((item) => item !== undefined) ? items : undefined;
}

function parseTokens(usage: Value | undefined): Tokens | undefined {
  const number = (...names: string[]) =>
    names.map((name) => usage?.get(name)).find((one) => one?.node.kind === "number")?.literal;
  const input = number("prompt_tokens", "input_tokens");
  const output = number("completion_tokens", "output_tokens");
  return input === undefined && output === undefined ? undefined : { input, output };
}

// ---- tools ------------------------------------------------------------------------------------------

function parseToolCall(value: Value): ParsedContent | undefined {
  const name = value.str("Tool");
  const argument = value.get("Argument");
  if (name === undefined || argument === undefined) return undefined;
  const args = parseArguments(argument);
  // A text that isn't an object in disguise is an argument like any other.
  return {
    kind: "call",
    name,
    args: args.kind === "entries" ? args : { kind: "value", value: argument },
  };
}

/** A result that comes as blocks (MCP and Anthropic) is its texts. */
function parseToolResult(value: Value): ParsedContent | undefined {
  const blocks = value.items ?? value.get("content")?.items;
  if (!blocks || blocks.length === 0 || blocks.some((block) => block.str("type") !== "text"))
    return undefined;
  if ((value.members?.length ?? 1) > 1 && value.get("isError")?.literal !== "false")
    return undefined;
  return { kind: "text", text: blocks.map((block) => block.str("text") ?? "").join("\n\n") };
}

// ---- Lists of messages: roles, names, and what each says.

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
export function parseMessages(
  items: readonly Value[],
  calls: Calls = new Map(),
): Message[] | undefined {
  const messages: Message[] = [];
  for (const item of items) {
    const message = parseMessage(item, calls);
    if (message === undefined) return undefined;
    messages.push(message);
  }
  return messages;
}

/** One message of any API, or undefined where it isn't one. */
export function parseMessage(item: Value, calls: Calls): Message | undefined {
  const type = item.str("type") ?? "";
  const alone = ITEM_ROLES[type];
  if (alone !== undefined) return named(item, alone, parseBlock(item, calls));
  const role = item.str("role") ?? (item.get("content") ? ROLES[type] : undefined);
  if (role === undefined) return undefined;
  const parts = [
    ...thoughts(item),
    ...parseParts(item.get("content"), calls),
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
  return [...several, ...(one && !one.isNull ? [one] : [])].map((call) => parseCall(call, calls));
}

// ---- The text of a row's contents that is shown, and the JSON value in it.

/** Which text is shown: what the agent sent, or what stands in its place. */
export interface ShownText {
  readonly text: string;
  readonly from: "original" | "edit" | "draft";
}

/** The text in force, or will be once the draft is sent; the original where it is asked for. */
export function shownText(
  body: MessageBody,
  draft: string | undefined,
  original: boolean,
): ShownText {
  if (!original) {
    if (draft !== undefined && "root" in parse(draft)) return { text: draft, from: "draft" };
    if (body.edit != null) return { text: body.edit, from: "edit" };
  }
  return { text: body.data, from: "original" };
}

/** A text that holds one JSON value, else undefined. */
export function documentOf(text: string): Value | undefined {
  const parsed = parse(text);
  return "root" in parsed ? new Value(text, parsed.root) : undefined;
}
