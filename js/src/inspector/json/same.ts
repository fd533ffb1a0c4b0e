/** Whether two JSON texts say the same: white space and the spelling of characters aside. */

import { decode } from "./node";
import { type Token, tokens } from "./print";

/** 1 and 1.0 differ here, and so do orders of keys: the agent may see the difference. */
export function sameJson(a: string, b: string): boolean {
  if (a === b) return true;
  const left = tokens(a);
  const right = tokens(b);
  for (;;) {
    const one = left.next();
    const other = right.next();
    if (one.done || other.done) return Boolean(one.done && other.done);
    if (!sameToken(a, one.value, b, other.value)) return false;
  }
}

function sameToken(a: string, one: Token, b: string, other: Token): boolean {
  if (one.kind !== other.kind) return false;
  const left = a.slice(one.start, one.end);
  const right = b.slice(other.start, other.end);
  return left === right || (one.kind === "string" && sameString(left, right));
}

function sameString(left: string, right: string): boolean {
  if (!left.includes("\\") && !right.includes("\\")) return false; // nothing to spell otherwise
  try {
    return decode(left) === decode(right);
  } catch {
    return false;
  }
}
