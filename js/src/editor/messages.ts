/**
 * The messages of a prompt as a list: one is put in, taken out or moved, and every other keeps its text.
 */
import { encode, type List, Value } from "../inspector/json/node";
import { pretty } from "../inspector/json/print";
import type { Shape } from "../inspector/shape";

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
export function messagesOf(shape: Shape, root: Value): Messages | null {
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
export function without({ text, list }: Messages, at: number): string {
  const { items } = list;
  const [before, one, after] = [items[at - 1], items[at], items[at + 1]];
  if (!one) return text;
  if (before) return text.slice(0, before.end) + text.slice(one.end);
  if (after) return text.slice(0, one.start) + text.slice(after.start);
  return `${text.slice(0, list.start)}[]${text.slice(list.end)}`;
}

/** The text with a message and the next one in each other's place. */
export function swapped({ text, list }: Messages, at: number): string {
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
export function withOneMore({ text, list }: Messages, role: Role): string {
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
export function origins(now: Messages, original: Messages): (number | null)[] {
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
