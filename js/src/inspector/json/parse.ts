/** JSON as a tree that keeps each literal and its place, and how a text becomes one. */
import {
  isSpace,
  numberEnd,
  QUOTE,
  skipSpace,
  stringEnd,
  type Token,
  tokens,
  unexpectedTextProblem,
  wordAt,
  wordEnd,
} from "./print";

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
  describe(text: string): string {
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

// ---- Strict JSON to a tree of places, or to the first problem in words.

export type Parsed = { readonly root: JsonNode } | { readonly problem: Problem };

/** Deeper than this, Python's own parsers give up too. */
const DEEPEST = 900;

/** Parse a text that must be one JSON value. */
export function parse(text: string): Parsed {
  try {
    return { root: new Parser(text).document() };
  } catch (problem) {
    if (problem instanceof Problem) return { problem };
    throw problem;
  }
}

class Parser {
  private at = 0;
  private depth = 0;

  constructor(private readonly text: string) {}

  document(): JsonNode {
    this.space();
    if (this.done) throw new Problem(0, 0, "the text is empty; write null for no value");
    const root = this.value("the value");
    this.space();
    if (!this.done) throw this.afterRoot(root);
    return root;
  }

  /** `name` is how a sentence calls this value: “the value of “path””. */
  private value(name: string): JsonNode {
    const start = this.at;
    const code = this.text.charCodeAt(start);
    if (code === QUOTE) {
      this.at = stringEnd(this.text, start);
      return { kind: "string", start, end: this.at };
    }
    if (code === 0x7b || code === 0x5b) return this.nested(code, name);
    if (code === 0x2d || code === 0x2b || code === 0x2e || (code >= 0x30 && code <= 0x39)) {
      this.at = numberEnd(this.text, start);
      return { kind: "number", start, end: this.at };
    }
    this.at = wordEnd(this.text, start);
    return { kind: "literal", start, end: this.at };
  }

  private nested(code: number, name: string): JsonNode {
    this.depth += 1;
    if (this.depth > DEEPEST) throw new Problem(this.at, this.at + 1, "this is nested too deeply");
    const node = code === 0x7b ? this.dict() : this.list(name);
    this.depth -= 1;
    return node;
  }

  private dict(): JsonNode {
    const start = this.at;
    const members: Member[] = [];
    this.at += 1;
    this.space();
    if (this.take("}")) return { kind: "object", start, end: this.at, members };
    for (;;) {
      const member = this.member(start, members.length > 0);
      members.push(member);
      const name = `the value of ${quoted(member.key)}`;
      if (this.next("}", "{", start, name)) return { kind: "object", start, end: this.at, members };
    }
  }

  private member(open: number, afterComma: boolean): Member {
    const at = this.key(open, afterComma);
    const key = decode(this.text.slice(at.start, at.end));
    this.space();
    if (!this.take(":")) {
      throw new Problem(at.start, at.end, `a colon is missing after the key ${quoted(key)}`);
    }
    const colon = this.at;
    this.space();
    const name = `the value of ${quoted(key)}`;
    if (this.done || this.sees(",") || this.sees("}") || this.sees("]")) {
      throw new Problem(colon - 1, colon, `${name} is missing`);
    }
    return { key, at, value: this.value(name) };
  }

  private key(open: number, afterComma: boolean): { start: number; end: number } {
    const start = this.at;
    if (this.text.charCodeAt(start) === QUOTE) {
      this.at = stringEnd(this.text, start);
      return { start, end: this.at };
    }
    if (this.done) throw this.unclosed("{", open);
    if (this.sees("}") && afterComma) throw this.commaTooMany("}");
    if (this.sees(",")) throw new Problem(start, start + 1, "there is a comma too many");
    const word = wordAt(this.text, start);
    if (word !== undefined) {
      throw new Problem(start, start + word.length, `the key ${quoted(word)} needs double quotes`);
    }
    if (this.sees("'"))
      throw new Problem(start, start + 1, "a key needs double quotes, not single ones");
    if (this.sees("]")) throw this.wrongCloser("{", "}", open);
    const stray = unexpectedTextProblem(this.text, start);
    const words = stray.words.replace("where a value is expected", "where a key is expected");
    throw new Problem(stray.at, stray.end, words);
  }

  private list(name: string): JsonNode {
    const start = this.at;
    const items: JsonNode[] = [];
    const owner = name.startsWith("the value of ")
      ? name.slice("the value of ".length)
      : "the list";
    this.at += 1;
    this.space();
    if (this.take("]")) return { kind: "array", start, end: this.at, items };
    for (;;) {
      if (this.done) throw this.unclosed("[", start);
      if (this.sees("]") && items.length > 0) throw this.commaTooMany("]");
      if (this.sees(",")) throw new Problem(this.at, this.at + 1, "there is a comma too many");
      if (this.sees("}")) throw this.wrongCloser("[", "]", start);
      const item = `item ${items.length + 1} of ${owner}`;
      items.push(this.value(item));
      if (this.next("]", "[", start, item)) return { kind: "array", start, end: this.at, items };
    }
  }

  /** After a value: true where its container is closed, false where a comma leads on. */
  private next(closer: string, opener: string, open: number, name: string): boolean {
    const end = this.at;
    this.space();
    if (this.take(closer)) return true;
    if (this.take(",")) {
      this.space();
      return false;
    }
    if (this.done) throw this.unclosed(opener, open);
    if (this.sees("}") || this.sees("]")) throw this.wrongCloser(opener, closer, open);
    throw this.commaMissing(end, name);
  }

  private commaMissing(end: number, name: string): Problem {
    // Letters that touch a closing quote: most likely the quote was meant to be part of the text.
    const touching = this.at === end && this.text.charCodeAt(end - 1) === QUOTE;
    const also = touching ? ', or a quote inside it must be written \\"' : "";
    const stop = isSpace(this.text.charCodeAt(end)) || end === this.text.length ? end : end + 1;
    return new Problem(end, stop, `a comma is missing after ${name}${also}`);
  }

  private commaTooMany(before: string): Problem {
    const comma = this.text.lastIndexOf(",", this.at);
    return new Problem(comma, comma + 1, `there is a comma too many before ${before}`);
  }

  private unclosed(opener: string, open: number): Problem {
    const closer = opener === "{" ? "}" : "]";
    const line = lineOf(this.text, open);
    const end = this.text.trimEnd().length;
    return new Problem(end, end, `the ${opener} of line ${line} is never closed with ${closer}`);
  }

  private wrongCloser(opener: string, closer: string, open: number): Problem {
    const line = lineOf(this.text, open);
    const found = this.text.charAt(this.at);
    const words = `the ${opener} of line ${line} must be closed with ${closer}, not ${found}`;
    return new Problem(this.at, this.at + 1, words);
  }

  private afterRoot(root: JsonNode): Problem {
    const what = { object: "the object", array: "the list" }[root.kind as "object"] ?? "the value";
    return new Problem(this.at, this.text.length, `something follows after the end of ${what}`);
  }

  private get done(): boolean {
    return this.at >= this.text.length;
  }

  private space(): void {
    this.at = skipSpace(this.text, this.at);
  }

  private sees(char: string): boolean {
    return this.text[this.at] === char;
  }

  private take(char: string): boolean {
    if (!this.sees(char)) return false;
    this.at += 1;
    return true;
  }
}
