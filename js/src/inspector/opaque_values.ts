/** Marks: values that JSON can't carry, shown by their repr. They are read-only: protocol/opaque_values.py has the rule. */

import { type Member, type Parsed, Problem, parse, Value } from "./json/parse";
import { documentOf } from "./parsed/content";
import type { ContentShape } from "./title";

interface OpaqueValue {
  /** The object's repr. */
  readonly text: string;
  /** Why it can't be edited. */
  readonly why: string;
}

/** The mark that a value is, if it is one. */
export function opaqueValueOf(value: Value): OpaqueValue | undefined {
  const text = value.str("$repr");
  if (text === undefined || !value.get("$ref")) return undefined;
  return { text, why: value.str("$why") ?? "JSON can’t carry it" };
}

/** What is wrong with an edit that changes a mark, or puts another value in its place. */
export function opaqueValueProblem(original: string, edited: Value): Problem | null {
  const sent = original.includes('"$repr"') ? documentOf(original) : undefined;
  if (!sent && !edited.text.includes("$repr")) return null;
  const known = new Set(sent ? [...opaqueValuesIn(sent)].map(keyOf) : []);
  const left = new Set<string>();
  for (const opaque of opaqueValuesIn(edited)) {
    const key = keyOf(opaque);
    if (!known.has(key)) return problemAt(opaque, opaque);
    left.add(key);
  }
  for (const [opaque, other] of sent ? replaced(sent, edited) : []) {
    if (!left.has(keyOf(opaque))) return problemAt(other, opaque);
  }
  return null;
}

function problemAt({ node }: Value, opaque: Value): Problem {
  const why = opaqueValueOf(opaque)?.why ?? "";
  return new Problem(
    node.start,
    node.end,
    `this is read-only, since ${why}. Restore its original value`,
  );
}

function* opaqueValuesIn(root: Value): Generator<Value> {
  const todo = [root];
  for (let value = todo.pop(); value; value = todo.pop()) {
    if (opaqueValueOf(value)) yield value;
    else todo.push(...(value.items ?? value.members?.map(([, item]) => item) ?? []));
  }
}

/** Each mark in whose place another value stands, and that value. */
function* replaced(sent: Value, edited: Value): Generator<[Value, Value]> {
  const todo: [Value, Value][] = [[sent, edited]];
  for (let pair = todo.pop(); pair; pair = todo.pop()) {
    const [one, other] = pair;
    if (opaqueValueOf(one)) {
      if (!opaqueValueOf(other)) yield [one, other];
    } else if (one.members && other.members) {
      for (const [key, item] of one.members) {
        const now = other.get(key);
        if (now) todo.push([item, now]);
      }
    } else if (one.items && other.items && one.items.length === other.items.length) {
      const now = other.items;
      one.items.forEach((item, at) => {
        const same = now[at];
        if (same) todo.push([item, same]);
      });
    }
  }
}

/** The same for marks that say the same, whatever the order of their keys. */
function keyOf(opaque: Value): string {
  return JSON.stringify(Object.entries(JSON.parse(opaque.literal)).sort());
}

// ---- What the Core would refuse an edit for.

/**
 * What is wrong with an edit's text; null where it can be sent.
 *
 * @param original What the agent sent.
 */
export function problemOf(
  shape: ContentShape,
  original: string,
  text: string,
  parsed: Parsed = parse(text),
): Problem | null {
  if ("problem" in parsed) return parsed.problem;
  const root = new Value(text, parsed.root);
  return (shape === "call" ? callProblem(root) : null) ?? opaqueValueProblem(original, root);
}

/** A tool call must stay {"Tool": text, "Argument": any}: the Core refuses anything else. */
function callProblem(root: Value): Problem | null {
  const { start, end } = root.node;
  const whole = (words: string) => new Problem(start, Math.min(end, start + 1), words);
  if (!root.members) return whole('a tool call must stay {"Tool": …, "Argument": …}');
  const tool = root.get("Tool");
  if (!tool) return whole("“Tool” is missing: a tool call names its tool");
  if (tool.string === undefined) {
    return new Problem(
      tool.node.start,
      tool.node.end,
      "the value of “Tool” must be text, the tool's name",
    );
  }
  if (!root.get("Argument")) return whole("“Argument” is missing: a tool call has one, be it null");
  const other = membersOf(root).find(({ key }) => key !== "Tool" && key !== "Argument");
  return other
    ? new Problem(other.at.start, other.at.end, "a tool call holds only “Tool” and “Argument”")
    : null;
}

function membersOf({ node }: Value): readonly Member[] {
  return node.kind === "object" ? node.members : [];
}
