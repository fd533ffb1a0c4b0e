/** What a key means in the list of sessions. Pure. */
import { targetOf } from "../view/list/moving";
import type { Order } from "./status";

export type KeyAct =
  | { kind: "go"; to: number }
  | { kind: "select" | "choose" | "all" | "none" | "open" }
  | { kind: "order"; order: Order };

const ORDERS: Record<string, Order> = {
  p: "pause",
  r: "resume",
  i: "interrupt",
  s: "input",
  Delete: "destroy",
};
const ACTS: Record<string, "select" | "choose" | "none" | "open"> = {
  Enter: "select",
  " ": "choose",
  Escape: "none",
  o: "open",
};

type Key = Pick<KeyboardEvent, "key" | "altKey" | "ctrlKey" | "metaKey">;

/**
 * @param at The index of the line that has the focus.
 * @param page How many lines are in sight.
 */
export function keyAct(
  { key, altKey, ctrlKey, metaKey }: Key,
  at: number,
  page: number,
): KeyAct | null {
  if (altKey) return null;
  if (ctrlKey || metaKey) return key.toLowerCase() === "a" ? { kind: "all" } : null;
  const to = targetOf(key, at, page);
  if (to !== undefined) return { kind: "go", to };
  const order = ORDERS[key];
  if (order) return { kind: "order", order };
  const kind = ACTS[key];
  return kind ? { kind } : null;
}
