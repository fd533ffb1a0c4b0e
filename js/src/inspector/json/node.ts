/**
 * JSON as a tree of places in its own text.
 *
 * Nothing here holds a decoded number: a body's literals (1.0, 12345678901234567890, a key that stands
 * there twice) are looked at where they stand, so that showing or editing one value can't change another.
 */

/** Where something stands: from `start` up to, not including, `end`. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

export interface Scalar extends Span {
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

export interface Dict extends Span {
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
