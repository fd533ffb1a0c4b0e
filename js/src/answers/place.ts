/** Where an edit differs from the original, as a JSON Pointer. Pure. */

import type { Value } from "../inspector/json/parse";
import { sameJson } from "../inspector/json/parse";
import { pretty } from "../inspector/json/print";
import { documentOf } from "../inspector/parsed/content";

interface Place {
  /** A JSON Pointer. */
  path: string;
  /** What stands there in the edit, as JSON text. */
  value: string;
}

/** The innermost place in which all differences stand; null where there is none. */
export function changedPlace(original: string, edited: string | null): Place | null {
  const [one, other] = [documentOf(original), edited === null ? undefined : documentOf(edited)];
  if (!one || !other || sameJson(one.literal, other.literal)) return null;
  return narrow(one, other, "");
}

function narrow(one: Value, other: Value, path: string): Place {
  const [before, after] = [childrenOf(one), childrenOf(other)];
  const keys = [...after.keys()];
  const same = before.size === after.size && keys.every((key) => before.has(key));
  const differing = keys.filter(
    (key) => !sameJson(before.get(key)?.literal ?? "", after.get(key)?.literal ?? ""),
  );
  const [key] = differing;
  const [from, to] = [before.get(key ?? ""), after.get(key ?? "")];
  if (same && differing.length === 1 && key !== undefined && from && to)
    return narrow(from, to, `${path}/${escapeKey(key)}`);
  return { path, value: pretty(other.literal) };
}

function childrenOf(value: Value): Map<string, Value> {
  if (value.members) return new Map(value.members);
  return new Map((value.items ?? []).map((item, at) => [String(at), item]));
}

const escapeKey = (key: string) => key.replaceAll("~", "~0").replaceAll("/", "~1");
