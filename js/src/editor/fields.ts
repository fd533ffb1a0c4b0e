/**
 * The values of a body that are worth a field of their own, each with its place in the JSON text.
 *
 * A field is changed by replacing its own token range and nothing else, so that 1.0 and large integers
 * beside it stay as the agent wrote them.
 */
import { encode, type JsonNode, sameJson, Value } from "../inspector/json/node";
import { parse } from "../inspector/json/parse";
import { pretty } from "../inspector/json/print";
import { markOf } from "../inspector/marks";
import type { Shape } from "../inspector/shape";

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
  return markOf(field.value)?.text ?? field.value.string ?? pretty(field.value.literal);
}

/** The document's text with another value in the field's place. */
export function replaced(text: string, field: Field, literal: string): string {
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
export function fieldsOf(shape: Shape, root: Value): Field[] {
  if (root.string !== undefined) return [field("text", root)];
  if (markOf(root)) return [field("value", root)];
  const found = FINDERS[shape](root);
  return found.length > 0 ? found : members(root, "", undefined);
}

const FINDERS: Record<Shape, (root: Value) => Field[]> = {
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
    const parsed = parse(text);
    const inner = "root" in parsed ? new Value(text, parsed.root) : undefined;
    if (inner?.members) return members(inner, id, group, value);
  }
  if (value.members && !markOf(value)) return members(value, id, group);
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
