/** What two rows beside each other have to do with one another. Pure. */
import type { MessageBody, Row } from "../model/model";
import type { Pair } from "./align";

/** Both do the same, both do it with other contents, or only one run does it. */
export type Verdict = "same" | "changed" | "left" | "right";

/** What is known of pairs whose contents were compared, by their ids. */
export type Compared = ReadonlyMap<string, "same" | "changed">;

/** What a pair is known by. */
export function idOf({ left, right }: Pair): string {
  return JSON.stringify([left?.id ?? null, right?.id ?? null]);
}

/** The verdict on a pair: by its contents where those were compared, else by what its rows say. */
export function verdictOf(pair: Pair, compared: Compared): Verdict {
  const { left, right } = pair;
  if (right === null) return "left";
  if (left === null) return "right";
  return compared.get(idOf(pair)) ?? (looksSame(left, right) ? "same" : "changed");
}

/** Whether two rows say the same of themselves. */
function looksSame(left: Row, right: Row): boolean {
  return left.summary === right.summary && left.size === right.size && endsAlike(left, right);
}

function endsAlike(left: Row, right: Row): boolean {
  return (
    left.outcome === right.outcome &&
    left.answer === right.answer &&
    left.edited === right.edited &&
    left.failure?.type === right.failure?.type &&
    left.failure?.message === right.failure?.message
  );
}

/** The text in force of a row: what the agent went on with. */
export const textOf = ({ data, edit }: MessageBody): string => edit ?? data;

/** The verdict on two rows whose contents are here. */
export function compare(
  [left, right]: readonly [Row, Row],
  [one, other]: readonly [MessageBody, MessageBody],
): "same" | "changed" {
  return textOf(one) === textOf(other) && endsAlike(left, right) ? "same" : "changed";
}

/** The next difference from a line on, in a direction; the last one there is where there is none. */
export function nextDifference(
  verdicts: readonly Verdict[],
  from: number,
  by: 1 | -1,
): number | null {
  for (let at = from + by; at >= 0 && at < verdicts.length; at += by) {
    if (verdicts[at] !== "same") return at;
  }
  return null;
}
