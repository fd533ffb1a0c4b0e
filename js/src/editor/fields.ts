/** What of a body can be edited, field by field and message by message. Pure. */

import { encode, type JsonNode, type List, sameJson, Value } from "../inspector/json/parse";
import { pretty } from "../inspector/json/print";
import { opaqueValueOf } from "../inspector/opaque_values";
import { documentOf } from "../inspector/parsed/content";
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
  readonly outer: Value | undefined;
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
  const { outer, value } = field;
  if (!outer) return splice(text, value.node, literal);
  return splice(text, outer.node, encode(splice(value.text, value.node, literal)));
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

function field(id: string, value: Value, group?: Group, label = id, outer?: Value): Field {
  return { id, label, group, kind: value.node.kind === "string" ? "text" : "json", value, outer };
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

function members(value: Value, id: string, group: Group | undefined, outer?: Value): Field[] {
  const seen = new Map<string, number>();
  return (value.members ?? []).map(([key, one]) => {
    const times = seen.get(key) ?? 0;
    seen.set(key, times + 1);
    const own = times === 0 ? key : `${key}#${times + 1}`; // a key may stand twice
    return field(id === "" ? own : `${id}.${own}`, one, group, key, outer);
  });
}

// ---- messages ---------------------------------------------------------------------------------------

function promptFields(root: Value): Field[] {
  if (root.items) return messageList(root, "");
  const ahead = ["system", "instructions"].flatMap((key) => spoken(root.get(key), key, "system"));
  const key = ["messages", "input"].find((name) => root.get(name));
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
  return id === key || id === "system" || id === "instructions";
}

function spoken(value: Value | undefined, id: string, role: string): Field[] {
  if (!value || value.isNull) return [];
  return contentFields(value, id, { id, title: role, name: undefined });
}

function answerFields(root: Value): Field[] {
  const choices = root.get("choices")?.items;
  if (choices) {
    return choices.flatMap((choice, at) => {
      const message = choice.get("message");
      return message ? messageFields(message, `choices.${at}.message`) : [];
    });
  }
  const output = root.get("output");
  if (output?.items) return messageList(output, "output.");
  if (root.items) {
    const blocks = root.items.every((item) => item.str("role") === undefined);
    return blocks
      ? contentFields(root, "content", { id: "content", title: "assistant", name: undefined })
      : messageList(root, "");
  }
  return root.str("role") === undefined ? [] : messageFields(root, "message");
}

function messageList(list: Value, id: string): Field[] {
  return (list.items ?? []).flatMap((item, at) =>
    messageFields(item, `${id}${at}`).map((one) => ({
      ...one,
      group: one.group && { ...one.group, message: at },
    })),
  );
}

function messageFields(message: Value, id: string): Field[] {
  const type = message.str("type") ?? "";
  if (type === "function_call") return callFields(message, id);
  const title =
    message.str("role") ?? (type === "function_call_output" ? "tool" : type || "message");
  const group = { id, title, name: message.str("name") };
  const content = message.get("content");
  const output = type === "function_call_output" ? message.get("output") : undefined;
  return [
    ...(content ? contentFields(content, `${id}.content`, group) : []),
    ...(output ? contentFields(output, `${id}.output`, group) : []),
    ...(message.get("tool_calls")?.items ?? []).flatMap((call, at) =>
      callFields(call, `${id}.tool_calls.${at}`),
    ),
  ];
}

function callFields(call: Value, id: string): Field[] {
  const inner = call.get("function") ?? call;
  const args = inner.get("arguments") ?? inner.get("input");
  const group = { id, title: "calls", name: inner.str("name") };
  return args ? argumentFields(args, `${id}.arguments`, group) : [];
}

function contentFields(content: Value, id: string, group: Group): Field[] {
  if (content.string !== undefined) return [field(id, content, group, "content")];
  return (content.items ?? []).flatMap((block, at) => blockFields(block, `${id}.${at}`, group));
}

function blockFields(block: Value, id: string, group: Group): Field[] {
  const type = block.str("type");
  if (block.string !== undefined) return [field(id, block, group, "text")];
  if (type === "tool_use") return callFields(block, id);
  if (type === "tool_result") {
    const content = block.get("content");
    return content ? contentFields(content, `${id}.content`, { ...group, title: "tool" }) : [];
  }
  // A thought is signed by its API: only the JSON can change it.
  const text = type?.endsWith("text") ? block.get("text") : undefined;
  return text ? [field(`${id}.text`, text, group, "text")] : [];
}

// ---- The messages of a prompt as a list: one is put in, taken out or moved, and every other keeps its text.

/** Who a message that is put in may speak as. */
export const ROLES = ["user", "assistant", "system"] as const;
export type Role = (typeof ROLES)[number];

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
  const key = root.items ? "" : ["messages", "input"].find((name) => root.get(name));
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
export function addMessage({ text, list }: Messages, role: Role): string {
  const literal = `{"role": ${encode(role)}, "content": ""}`;
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
    const role = messageAt(now, at)?.str("role");
    const place = missing.findIndex((one) => messageAt(original, one)?.str("role") === role);
    return place < 0 ? null : (missing.splice(place, 1)[0] ?? null);
  });
}
