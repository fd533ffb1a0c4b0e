/**
 * JSON as a tree of places in its own text.
 *
 * Nothing here holds a decoded number: a body's literals (1.0, 12345678901234567890, a key that stands
 * there twice) are looked at where they stand, so that showing or editing one value can't change another.
 */
import { type Token, tokens } from "./print";

/** What is wrong with a JSON text, in words a person can act on. */
export class Problem {
  constructor(
    /** Where to mark it. */
    readonly at: number,
    readonly end: number,
    /** A sentence without its line: "a comma is missing after the value of “x”". */
    readonly words: string,
  ) {}

  /** The whole sentence, as it is shown. */
  sentence(text: string): string {
    return `Line ${lineOf(text, this.at)}: ${this.words}.`;
  }
}

/** The number of the line, from 1, that an offset is on. */
export function lineOf(text: string, offset: number): number {
  let line = 1;
  for (let at = text.indexOf("\n"); at !== -1 && at < offset; at = text.indexOf("\n", at + 1)) {
    line += 1;
  }
  return line;
}

/** A name as it is quoted in a sentence. */
export function quoted(name: string): string {
  return `“${name.length > 40 ? `${name.slice(0, 39)}…` : name}”`;
}

/** Where something stands: from `start` up to, not including, `end`. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

interface Scalar extends Span {
  readonly kind: "string" | "number" | "literal";
}

export interface List extends Span {
  readonly kind: "array";
  readonly items: readonly JsonNode[];
}

export interface Member {
  readonly key: string;
  readonly at: Span;
  readonly value: JsonNode;
}

interface Dict extends Span {
  readonly kind: "object";
  readonly members: readonly Member[];
}

export type JsonNode = Scalar | List | Dict;

/** A value inside a document: what the readers of message shapes pass around. */
export class Value {
  constructor(
    readonly text: string,
    readonly node: JsonNode,
  ) {}

  /** The value's own JSON text, as it stands. */
  get literal(): string {
    return this.text.slice(this.node.start, this.node.end);
  }

  /** The decoded text of a string, else undefined. */
  get string(): string | undefined {
    return this.node.kind === "string" ? decode(this.literal) : undefined;
  }

  get items(): Value[] | undefined {
    if (this.node.kind !== "array") return undefined;
    return this.node.items.map((item) => new Value(this.text, item));
  }

  get members(): [string, Value][] | undefined {
    if (this.node.kind !== "object") return undefined;
    return this.node.members.map((member) => [member.key, new Value(this.text, member.value)]);
  }

  get isNull(): boolean {
    return this.node.kind === "literal" && this.literal === "null";
  }

  /** The member of this name; the last one where a key stands twice, as every JSON reader has it. */
  get(key: string): Value | undefined {
    if (this.node.kind !== "object") return undefined;
    const member = this.node.members.findLast((one) => one.key === key);
    return member && new Value(this.text, member.value);
  }

  /** The text of the string of this name. */
  str(key: string): string | undefined {
    return this.get(key)?.string;
  }
}

/** The text that a JSON string stands for. */
export function decode(literal: string): string {
  return JSON.parse(literal) as string;
}

/** The JSON string that stands for a text. */
export function encode(text: string): string {
  return JSON.stringify(text);
}

// ---- Whether two JSON texts say the same: white space and the spelling of characters aside.

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
