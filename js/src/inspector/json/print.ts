/**
 * Layout without re-encoding: only the white space outside strings changes.
 *
 * The scanner is lenient on purpose, since bodies from version 1 agents hold NaN and worse: whatever is
 * neither a string nor a bracket is a literal and is copied.
 */

import { BACKSLASH, QUOTE, skipSpace } from "./lex";

/** Deeper levels get no further indent: a text of brackets alone must not grow with its square. */
const DEEPEST_INDENT = 60;
const LITERAL = /[^\s",:[\]{}]+/y;

export interface Token {
  readonly kind: "string" | "open" | "close" | "comma" | "colon" | "literal";
  readonly start: number;
  readonly end: number;
}

const KINDS: Record<string, Token["kind"]> = {
  "{": "open",
  "[": "open",
  "}": "close",
  "]": "close",
  ",": "comma",
  ":": "colon",
};

/** The tokens of a text; none where a string is never closed. */
export function* tokens(text: string): Generator<Token> {
  let at = skipSpace(text, 0);
  while (at < text.length) {
    const start = at;
    const kind = text.charCodeAt(at) === QUOTE ? "string" : (KINDS[text.charAt(at)] ?? "literal");
    if (kind === "string") at = endOfString(text, at);
    else if (kind === "literal") at = endOfLiteral(text, at);
    else at += 1;
    yield { kind, start, end: at };
    at = skipSpace(text, at);
  }
}

function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at + 1;
    if (code === BACKSLASH) at += 1;
  }
  return text.length;
}

function endOfLiteral(text: string, start: number): number {
  LITERAL.lastIndex = start;
  // Unusual white space (a form feed) is matched by \s but isn't skipped: take one character.
  return LITERAL.test(text) ? LITERAL.lastIndex : start + 1;
}

/** The text laid out on lines; unchanged where its brackets don't match. */
export function pretty(text: string, indent = 2): string {
  const out: string[] = [];
  const opened: string[] = [];
  let before: Token["kind"] | undefined;
  const line = () => out.push(`\n${" ".repeat(indent * Math.min(opened.length, DEEPEST_INDENT))}`);

  for (const token of tokens(text)) {
    const char = text.charAt(token.start);
    if (token.kind === "close") {
      if (opened.pop() !== (char === "}" ? "{" : "[")) return text;
      if (before !== "open") line();
    } else if (before === "open" || before === "comma") line();
    else if (
      before === "colon" ||
      (before !== undefined && isValue(before) && isValue(token.kind))
    ) {
      out.push(" ");
    }
    if (token.kind === "open") opened.push(char);
    out.push(text.slice(token.start, token.end));
    before = token.kind;
  }
  return opened.length === 0 ? out.join("") : text;
}

/** The text on one line, spaced as Python spaces it. */
export function oneLine(text: string): string {
  const out: string[] = [];
  for (const token of tokens(text)) {
    out.push(text.slice(token.start, token.end));
    if (token.kind === "comma" || token.kind === "colon") out.push(" ");
  }
  return out.join("");
}

function isValue(kind: Token["kind"]): boolean {
  return kind === "string" || kind === "literal";
}
