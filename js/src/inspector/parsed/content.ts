/** Bodies to readings, by what their row is. */

import type { MessageBody } from "../../model/model";
import { parse, Value } from "../json/parse";
import type { ContentShape } from "../title";
import {
  callsBeside,
  contentOf,
  hasFailed,
  isFrameworkMessage,
  MESSAGE_KEYS,
  readBlock,
  roleOf,
  SYSTEM_KEYS,
  standsAlone,
  unwrap,
} from "./message_shapes";
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

function parsePrompt(value: Value): ParsedContent | undefined {
  const items = value.items;
  if (items) {
    const messages = items.length > 0 ? parseMessages(items) : undefined;
    return messages && { kind: "prompt", messages, settings: [], tools: [] };
  }
  const key = MESSAGE_KEYS.find((name) => value.get(name) !== undefined);
  const list = key === undefined ? undefined : value.get(key);
  const messages = list && parseSpoken(list);
  if (!messages) return undefined;
  const ahead = SYSTEM_KEYS.flatMap((name) => {
    const one = value.get(name);
    return one && !one.isNull ? [spoken("system", one.get("parts") ?? one)] : [];
  });
  const settings = (entriesOf(value) ?? []).filter(({ name }) => !isSpoken(name, key));
  return { kind: "prompt", messages: [...ahead, ...messages], settings, tools: parseTools(value) };
}

function parseSpoken(list: Value): Message[] | undefined {
  if (list.string !== undefined) return [spoken("user", list)];
  return list.items && parseMessages(list.items);
}

function isSpoken(name: string, key: string | undefined): boolean {
  return name === key || SYSTEM_KEYS.includes(name) || name === "tools";
}

function spoken(role: string, value: Value): Message {
  return { role, name: undefined, parts: parseParts(value, new Map()), json: value.literal };
}

function parseTools(value: Value): Tool[] {
  const tools = (value.get("tools")?.items ?? []).flatMap(
    (tool) =>
      (tool.get("functionDeclarations") ?? tool.get("function_declarations"))?.items ?? [tool],
  );
  return tools.map((tool) => {
    const inner = tool.get("function") ?? tool;
    const name = inner.str("name") ?? inner.str("type") ?? tool.string ?? "?";
    return { name, description: inner.str("description"), value: tool };
  });
}

// ---- answers ----------------------------------------------------------------------------------------

function parseAnswer(value: Value): ParsedContent | undefined {
  const calls: Calls = new Map();
  const messages = answerMessages(value, calls);
  if (!messages) return undefined;
  const choice = (value.get("choices") ?? value.get("candidates"))?.items?.[0];
  const ended =
    choice?.str("finish_reason") ??
    choice?.str("finishReason") ??
    value.str("stop_reason") ??
    value.str("status");
  const usage = value.get("usage") ?? value.get("usageMetadata") ?? value.get("usage_metadata");
  return { kind: "answer", messages, tokens: parseTokens(usage), ended };
}

function answerMessages(value: Value, calls: Calls): Message[] | undefined {
  const choices = (value.get("choices") ?? value.get("candidates"))?.items;
  if (choices && choices.length > 0)
    return all(choices.map((choice) => parseChoice(choice, calls)))?.flat();
  const output = value.get("output")?.items; // OpenAI's responses
  if (output && output.length > 0) return parseMessages(output, calls);
  const items = value.items;
  const content = value.get("content");
  if (content?.get("parts")) return parseMessage(content, calls); // ADK's
  if (!items) return parseMessage(value, calls);
  if (items.length === 0) return undefined;
  return parseBlocks(value, items) ?? parseMessages(items, calls);
}

/** Anthropic's bare list of blocks. */
function parseBlocks(value: Value, items: readonly Value[]): Message[] | undefined {
  const bare = items.every(
    (item) => item.str("type") !== undefined && item.str("role") === undefined,
  );
  if (!bare || items.some(isFrameworkMessage)) return undefined;
  const message = spoken("assistant", value);
  return message.parts.some((part) => part.kind === "data") ? undefined : [message];
}

function parseChoice(choice: Value, calls: Calls): Message[] | undefined {
  const message = choice.get("message") ?? choice.get("content"); // Gemini's is its content
  if (message?.members) return parseMessage(message, calls);
  const text = choice.get("text"); // completions without chat
  return text && [spoken("assistant", text)];
}

function all<T>(items: (T | undefined)[]): T[] | undefined {
  return items.every((item) => item !== undefined) ? items : undefined;
}

function parseTokens(usage: Value | undefined): Tokens | undefined {
  const number = (...names: string[]) =>
    names.map((name) => usage?.get(name)).find((one) => one?.node.kind === "number")?.literal;
  const input = number("prompt_tokens", "input_tokens", "promptTokenCount");
  const output = number("completion_tokens", "output_tokens", "candidatesTokenCount");
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

/** The messages of a framework that a value is, or is a list of. */
export function parseFrameworkMessages(value: Value): Message[] | undefined {
  const items = value.items ?? [value];
  return items.length > 0 && items.every(isFrameworkMessage) ? parseMessages(items) : undefined;
}

/** What a result of MCP's has beside its content. */
const MCP_KEYS = new Set(["isError", "structuredContent", "_meta", "meta"]);

/** A result that comes as blocks (MCP and Anthropic) is its texts; one that is a message is that. */
function parseToolResult(value: Value): ParsedContent | undefined {
  const messages = parseFrameworkMessages(value);
  if (messages) return { kind: "answer", messages, tokens: undefined, ended: undefined };
  if (value.members?.some(([name]) => name !== "content" && !MCP_KEYS.has(name))) return undefined;
  const failed = value.get("isError")?.literal === "true";
  const blocks = value.items ?? value.get("content")?.items;
  if (!blocks || blocks.length === 0) return undefined;
  const parts = blocks.flatMap((block) => parseBlock(block, new Map()));
  if (parts.some(({ kind }) => kind !== "text" && kind !== "media")) return undefined;
  const texts = parts.flatMap((part) => (part.kind === "text" ? [part.text] : []));
  if (texts.length === parts.length && !failed) return { kind: "text", text: texts.join("\n\n") };
  const said: Part[] = failed ? [{ kind: "result", name: undefined, failed, parts }] : parts;
  const message = { role: "tool", name: undefined, parts: said, json: value.literal };
  return { kind: "answer", messages: [message], tokens: undefined, ended: undefined };
}

// ---- Lists of messages: roles, names, and what each says.

/** A list of messages, or undefined where it holds anything else. */
export function parseMessages(
  items: readonly Value[],
  calls: Calls = new Map(),
): Message[] | undefined {
  const messages: Message[] = [];
  for (const item of items) {
    const found = parseMessage(item, calls);
    if (found === undefined) return undefined;
    messages.push(...found);
  }
  return messages;
}

/** The messages that one item of a list is, or undefined where it is none. */
export function parseMessage(item: Value, calls: Calls): Message[] | undefined {
  const role = roleOf(item);
  if (role === undefined) return undefined;
  const message = unwrap(item);
  if (message.str("kind") === "request") return parseRequest(message, calls);
  if (standsAlone(item)) return [named(item, role, parseBlock(message, calls))];
  const beside = callsBeside(message).map((call) => parseCall(call, calls));
  const said = parseParts(contentOf(message), calls);
  const parts = [
    ...thoughts(message),
    // LangChain has the calls of an Anthropic message in its content, too.
    ...(beside.length > 0 ? said.filter(({ kind }) => kind !== "call") : said),
    ...refusal(message),
    ...beside,
  ];
  const name = callName(message, calls);
  if (role !== "tool" || !hasFailed(message))
    return [named(item, speaker(role, parts), parts, name)];
  return [named(item, role, [{ kind: "result", name, failed: true, parts }], name)];
}

/** A request of pydantic-ai's: system prompts, what the user says, and results, in one list. */
function parseRequest(request: Value, calls: Calls): Message[] {
  const instructions = request.get("instructions");
  const ahead = instructions?.string ? [spoken("system", instructions)] : [];
  const parts = (request.get("parts")?.items ?? []).map((item) => {
    const block = readBlock(item);
    const role = block.kind === "content" ? block.role : block.kind === "result" ? "tool" : "user";
    return named(item, role, parseBlock(item, calls));
  });
  return [...ahead, ...parts];
}

function named(item: Value, role: string, parts: Part[], name?: string): Message {
  const result = parts.length === 1 && parts[0]?.kind === "result" ? parts[0] : undefined;
  return {
    role,
    name: name ?? (role === "tool" ? result?.name : undefined),
    // A result alone needs no frame inside its message, unless it says more than the message.
    parts: role === "tool" && result && !result.failed ? result.parts : parts,
    json: item.literal,
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
