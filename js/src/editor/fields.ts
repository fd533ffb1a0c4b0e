/** What of a body can be edited, field by field and message by message. Pure. */

import { encode, type JsonNode, type List, sameJson, Value } from "../inspector/json/parse";
import { pretty } from "../inspector/json/print";
import { opaqueValueOf } from "../inspector/opaque_values";
import { documentOf } from "../inspector/parsed/content";
import {
  type Call,
  callsBeside,
  contentOf,
  MESSAGE_KEYS,
  readBlock,
  readCall,
  roleOf,
  SYSTEM_KEYS,
  standsAlone,
  unwrap,
} from "../inspector/parsed/message_shapes";
import type { ContentShape } from "../inspector/title";

export interface Field {
  /** The same after edits elsewhere: the path of keys and places. */
  readonly id: string;
  readonly label: string;
  /** Fields of one message or call stand together. */
  readonly group: Group | undefined;
  /** A text is edited as the text it is, everything else as JSON. */
  readonly kind: "text" | "json";
  readonly value: Value;
  /** The string that holds the JSON text that `value` stands in: OpenAI's arguments. */
  readonly outerString: Value | undefined;
}

export interface Group {
  readonly id: string;
  readonly title: string;
  /** A tool's name. */
  readonly name: string | undefined;
  /** The message that it is of, by its place in the list of messages. */
  readonly message?: number;
}

/** What an input shows. */
export function inputText(field: Field): string {
  return opaqueValueOf(field.value)?.text ?? field.value.string ?? pretty(field.value.literal);
}

/** The document's text with another value in the field's place. */
export function replaceField(text: string, field: Field, literal: string): string {
  const { outerString, value } = field;
  if (!outerString) return splice(text, value.node, literal);
  return splice(text, outerString.node, encode(splice(value.text, value.node, literal)));
}

/** The JSON that an input's text stands for. */
export function literalOf(field: Field, input: string): string {
  return field.kind === "text" ? encode(input) : input.trim();
}

export function sameField(one: Field, other: Field): boolean {
  return sameJson(one.value.literal, other.value.literal);
}

function splice(text: string, { start, end }: Pick<JsonNode, "start" | "end">, by: string): string {
  return text.slice(0, start) + by + text.slice(end);
}

/** The fields of a body; none where its JSON is all there is to say. */
export function fieldsOf(shape: ContentShape, root: Value): Field[] {
  if (root.string !== undefined) return [field("text", root)];
  if (opaqueValueOf(root)) return [field("value", root)];
  const found = FINDERS[shape](root);
  return found.length > 0 ? found : members(root, "", undefined);
}

const FINDERS: Record<ContentShape, (root: Value) => Field[]> = {
  prompt: promptFields,
  answer: answerFields,
  call: (root) => {
    const argument = root.get("Argument");
    return argument ? argumentFields(argument, "Argument", undefined) : [];
  },
  result: () => [],
  note: () => [],
};

function field(id: string, value: Value, group?: Group, label = id, outerString?: Value): Field {
  return {
    id,
    label,
    group,
    kind: value.node.kind === "string" ? "text" : "json",
    value,
    outerString,
  };
}

// ---- arguments --------------------------------------------------------------------------------------

/** Arguments by name; what isn't an object is one field. */
function argumentFields(value: Value, id: string, group: Group | undefined): Field[] {
  const text = value.string;
  if (text !== undefined) {
    const inner = documentOf(text);
    if (inner?.members) return members(inner, id, group, value);
  }
  if (value.members && !opaqueValueOf(value)) return members(value, id, group);
  return [field(id, value, group, "argument")];
}

function members(value: Value, id: string, group: Group | undefined, outerString?: Value): Field[] {
  const seen = new Map<string, number>();
  return (value.members ?? []).map(([key, one]) => {
    const times = seen.get(key) ?? 0;
    seen.set(key, times + 1);
    const own = times === 0 ? key : `${key}#${times + 1}`; // a key may stand twice
    return field(id === "" ? own : `${id}.${own}`, one, group, key, outerString);
  });
}

// ---- messages ---------------------------------------------------------------------------------------

function promptFields(root: Value): Field[] {
  if (root.items) return messageList(root, "");
  const ahead = SYSTEM_KEYS.flatMap((key) => spoken(root.get(key), key, "system"));
  const key = MESSAGE_KEYS.find((name) => root.get(name));
  const list = key === undefined ? undefined : root.get(key);
  if (!list || key === undefined) return [];
  const said = list.items ? messageList(list, `${key}.`) : spoken(list, key, "user");
  const settings = { id: "settings", title: "Settings", name: undefined };
  const others = members(root, "", settings).filter(
    (one) => !["items", "object", "array"].includes(one.value.node.kind) && !isSpoken(one.id, key),
  );
  return [...ahead, ...said, ...others];
}

function isSpoken(id: string, key: string): boolean {
  return id === key || SYSTEM_KEYS.includes(id);
}

function spoken(value: Value | undefined, id: string, role: string): Field[] {
  if (!value || value.isNull) return [];
  return contentFields(value.get("parts") ?? value, id, { id, title: role, name: undefined });
}

function answerFields(root: Value): Field[] {
  for (const key of ["choices", "candidates"]) {
    const choices = root.get(key)?.items;
    if (choices) return choices.flatMap((choice, at) => choiceFields(choice, `${key}.${at}`));
  }
  const output = root.get("output");
  if (output?.items) return messageList(output, "output.");
  if (root.items) {
    const blocks = !root.items.some(isMessage);
    return blocks
      ? contentFields(root, "content", { id: "content", title: "assistant", name: undefined })
      : messageList(root, "");
  }
  return isMessage(root) ? messageFields(root, "message") : [];
}

function choiceFields(choice: Value, id: string): Field[] {
  const key = choice.get("message") ? "message" : "content"; // Gemini's is its content
  const message = choice.get(key);
  return message ? messageFields(message, `${id}.${key}`) : [];
}

/** Whether an item speaks, and isn't a call or a thought alone. */
function isMessage(item: Value): boolean {
  return roleOf(item) !== undefined && !standsAlone(item);
}

function messageList(list: Value, id: string): Field[] {
  return (list.items ?? []).flatMap((item, at) =>
    messageFields(item, `${id}${at}`).map((one) => ({
      ...one,
      group: one.group && { ...one.group, message: at },
    })),
  );
}

function messageFields(item: Value, id: string): Field[] {
  const message = unwrap(item);
  const title = roleOf(item) ?? message.str("type") ?? "message";
  const group = { id, title, name: message.str("name") };
  const key = message.get("parts") ? "parts" : "content";
  const content = contentOf(message);
  const beside = callsBeside(message);
  const said = standsAlone(item)
    ? blockFields(message, id, group)
    : content
      ? contentFields(content, `${id}.${key}`, group)
      : [];
  return [
    ...spoken(message.get("instructions"), `${id}.instructions`, "system"), // pydantic-ai's
    // LangChain has the calls of an Anthropic message in its content, too, and calls those beside it.
    ...said.filter((one) => beside.length === 0 || one.group?.title !== "calls"),
    ...beside.flatMap((call, at) => callFields(readCall(call), `${id}.tool_calls.${at}`)),
  ];
}

function callFields({ name, args }: Call, id: string): Field[] {
  const group = { id, title: "calls", name };
  return args && !args.isNull ? argumentFields(args, `${id}.arguments`, group) : [];
}

function contentFields(content: Value, id: string, group: Group): Field[] {
  if (content.string !== undefined) return [field(id, content, group, "content")];
  return (content.items ?? []).flatMap((block, at) => blockFields(block, `${id}.${at}`, group));
}

function blockFields(value: Value, id: string, group: Group): Field[] {
  if (value.string !== undefined) return [field(id, value, group, "text")];
  const block = readBlock(value);
  switch (block.kind) {
    case "text":
      return block.text ? [field(`${id}.text`, block.text, group, "text")] : [];
    case "call":
      return callFields(block, id);
    case "result":
      return block.content
        ? resultFields(block.content, `${id}.content`, {
            ...group,
            title: "tool",
            name: block.name ?? group.name,
          })
        : [];
    case "content":
      return contentFields(block.content, `${id}.content`, { ...group, title: block.role });
    default: // A thought is signed by its API: only the JSON can change it.
      return [];
  }
}

/** What a tool gave: its texts, or the value that it is. */
function resultFields(content: Value, id: string, group: Group): Field[] {
  const texts = contentFields(content, id, group);
  return texts.length > 0 || content.isNull ? texts : [field(id, content, group, "content")];
}

// ---- The messages of a prompt as a list: one is put in, taken out or moved, and every other keeps its text.

/** Who a message that is put in may speak as. */
export function rolesOf(messages: Messages): readonly string[] {
  return isGemini(messages) ? ["user", "model"] : ["user", "assistant", "system"];
}

/** Gemini's messages have parts, and what the system says stands elsewhere. */
function isGemini({ prefix }: Messages): boolean {
  return prefix === "contents.";
}

/** The list of messages in a body. */
export interface Messages {
  /** What the ids of its fields begin with. */
  readonly prefix: string;
  readonly text: string;
  readonly list: List;
}

/** The messages of a prompt; null where it has no list of them. */
export function messagesOf(shape: ContentShape, root: Value): Messages | null {
  if (shape !== "prompt") return null;
  const key = root.items ? "" : MESSAGE_KEYS.find((name) => root.get(name));
  if (key === undefined) return null;
  const { node } = (key === "" ? root : root.get(key)) ?? root;
  if (node.kind !== "array" || node.items.some(({ kind }) => kind !== "object")) return null;
  return { prefix: key === "" ? "" : `${key}.`, text: root.text, list: node };
}

/** One message's own JSON. */
export function messageAt({ text, list }: Messages, at: number): Value | undefined {
  const node = list.items[at];
  return node && new Value(text, node);
}

/** The text without a message. */
export function removeMessage({ text, list }: Messages, at: number): string {
  const { items } = list;
  const [before, one, after] = [items[at - 1], items[at], items[at + 1]];
  if (!one) return text;
  if (before) return text.slice(0, before.end) + text.slice(one.end);
  if (after) return text.slice(0, one.start) + text.slice(after.start);
  return `${text.slice(0, list.start)}[]${text.slice(list.end)}`;
}

/** The text with a message and the next one in each other's place. */
export function swapMessages({ text, list }: Messages, at: number): string {
  const [one, next] = [list.items[at], list.items[at + 1]];
  if (!one || !next) return text;
  const parts = [
    text.slice(0, one.start),
    text.slice(next.start, next.end),
    text.slice(one.end, next.start),
    text.slice(one.start, one.end),
    text.slice(next.end),
  ];
  return parts.join("");
}

/** The text with a message more at the end, laid out as the last one is. */
export function addMessage(messages: Messages, role: string): string {
  const { text, list } = messages;
  const said = isGemini(messages) ? `"parts": [{"text": ""}]` : `"content": ""`;
  const literal = `{"role": ${encode(role)}, ${said}}`;
  const last = list.items.at(-1);
  if (!last) return `${text.slice(0, list.start)}[${literal}]${text.slice(list.end)}`;
  const line = text.slice(text.lastIndexOf("\n", last.start) + 1, last.start);
  const onLines = text.slice(list.start, last.start).includes("\n") && line.trim() === "";
  const more = onLines
    ? `,\n${line}${pretty(literal).replaceAll("\n", `\n${line}`)}`
    : `, ${literal}`;
  return text.slice(0, last.end) + more + text.slice(last.end);
}

/**
 * For each message which of the original ones it is, also where it was moved; null: it is a new one.
 *
 * One whose text is none of the original ones is taken for an edit of the first of its role that is missing.
 */
export function messageOrigins(now: Messages, original: Messages): (number | null)[] {
  const left = new Map<string, number[]>();
  original.list.items.forEach((_, at) => {
    const text = messageAt(original, at)?.literal ?? "";
    left.set(text, [...(left.get(text) ?? []), at]);
  });
  const found = now.list.items.map((_, at) => {
    const same = left.get(messageAt(now, at)?.literal ?? "");
    // Of equal ones the one at its own place, else the first.
    const place = same && Math.max(0, same.indexOf(at));
    return same && place !== undefined ? (same.splice(place, 1)[0] ?? null) : null;
  });
  const missing = [...left.values()].flat().sort((a, b) => a - b);
  return found.map((origin, at) => {
    if (origin !== null) return origin;
    const role = roleAt(now, at);
    const place = missing.findIndex((one) => roleAt(original, one) === role);
    return place < 0 ? null : (missing.splice(place, 1)[0] ?? null);
  });
}

/** Who speaks in the message at a place. */
export function roleAt(messages: Messages, at: number): string | undefined {
  const item = messageAt(messages, at);
  return item && roleOf(item);
}

// ---- The arguments of a call: one is put in.

/** The arguments of a call by name. */
export interface CallArguments {
  readonly object: Value;
  /** The string that holds the JSON text that `object` is. */
  readonly outerString: Value | undefined;
}

/** A call's arguments; null where they aren't an object, nor the JSON text of one. */
export function callArguments(root: Value): CallArguments | null {
  const outer = root.get("Argument");
  const text = outer?.string;
  const object = text === undefined ? outer : documentOf(text);
  if (!object?.members || opaqueValueOf(object)) return null;
  return { object, outerString: text === undefined ? undefined : outer };
}

/** The text of a call with an argument more. */
export function addArgument(
  { object, outerString }: CallArguments,
  key: string,
  literal: string,
): string {
  const text = addMember(object, key, literal);
  return outerString ? splice(outerString.text, outerString.node, encode(text)) : text;
}

/** The text of a document with a member more in one of its objects, laid out as the last one is. */
function addMember(value: Value, key: string, literal: string): string {
  const { text, node } = value;
  const last = value.members?.at(-1)?.[1].node;
  const member = `${encode(key)}: ${literal}`;
  if (!last) return `${text.slice(0, node.start)}{${member}}${text.slice(node.end)}`;
  const before = text.slice(node.start, last.start);
  const indent = /\n([ \t]*)"(?:[^"\\]|\\.)*"\s*:\s*$/.exec(before)?.[1];
  const separator = indent === undefined ? ", " : `,\n${indent}`;
  return text.slice(0, last.end) + separator + member + text.slice(last.end);
}
