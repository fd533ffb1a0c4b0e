/** The tokens of a JSON text, and how it is printed. */
import { Problem, quoted } from "./parse";

export const QUOTE = 0x22;
export const BACKSLASH = 0x5c;

const HEX4 = /^[0-9a-fA-F]{4}$/;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const WORD = /[\p{L}_$][\p{L}\p{N}_$.]*/uy;
/** Everything that may touch a number without being part of it. */
const AFTER_NUMBER = /[\s,\]}:"]|$/y;

const CONTROL_NAMES: Record<string, string> = {
  "\t": "a tab inside text must be written \\t",
  "\r": "a line break inside text must be written \\r",
};

/** Other languages' words for JSON's own. */
const FOREIGN: Record<string, string> = {
  True: "JSON writes true, not True",
  False: "JSON writes false, not False",
  None: "JSON writes null, not None",
  undefined: "JSON has no undefined; write null",
  NaN: "JSON has no NaN; write null, or text in double quotes",
  Infinity: "JSON has no Infinity; write null, or text in double quotes",
};

export function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
}

export function skipSpace(text: string, from: number): number {
  let at = from;
  while (isSpace(text.charCodeAt(at))) at += 1;
  return at;
}

function matchAt(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}

/** Where the string that begins at `start` ends. Throws a Problem. */
export function stringEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at + 1;
    if (code === BACKSLASH) at = escapeEnd(text, at) - 1;
    else if (code < 0x20) throw controlProblem(text, start, at);
  }
  throw new Problem(start, text.length, "the text that begins here is never closed with a quote");
}

function controlProblem(text: string, start: number, at: number): Problem {
  const char = text.charAt(at);
  if (char === "\n") {
    const words = "the text that ends this line is not closed; write a line break inside it as \\n";
    return new Problem(start, at, words);
  }
  const code = text.charCodeAt(at).toString(16).padStart(4, "0");
  const words = CONTROL_NAMES[char] ?? `a control character inside text must be written \\u${code}`;
  return new Problem(at, at + 1, words);
}

function escapeEnd(text: string, at: number): number {
  const next = text.charAt(at + 1);
  if (next !== "" && '"\\/bfnrt'.includes(next)) return at + 2;
  if (next !== "u") {
    const words =
      next === "" || next === "\n"
        ? "a backslash stands alone; write \\\\ for a backslash"
        : `\\${next} means nothing in JSON; write \\\\ for a backslash`;
    throw new Problem(at, at + 2, words);
  }
  if (HEX4.test(text.slice(at + 2, at + 6))) return at + 6;
  throw new Problem(at, at + 2, "\\u must be followed by four digits, 0 to 9 or a to f");
}

/** Where the number that begins at `start` ends. Throws a Problem. */
export function numberEnd(text: string, start: number): number {
  const found = matchAt(NUMBER, text, start);
  if (found !== undefined) {
    const end = start + found.length;
    if (matchAt(AFTER_NUMBER, text, end) !== undefined) return end;
  }
  throw numberProblem(text, start);
}

function numberProblem(text: string, start: number): Problem {
  const all = /^[-+.\w]*/.exec(text.slice(start, start + 60))?.[0] ?? "";
  const end = start + Math.max(all.length, 1);
  return new Problem(start, end, numberText(all));
}

function numberText(literal: string): string {
  if (literal.startsWith("+")) return "a number can't begin with +";
  if (/^-?(?:Infinity|NaN)/.test(literal)) return FOREIGN.Infinity ?? "";
  if (/^-?\./.test(literal))
    return `a number can't begin with a point; write ${literal.replace(".", "0.")}`;
  if (/^-(?![0-9])/.test(literal)) return "digits are missing after the minus sign";
  if (/^-?0[0-9]/.test(literal)) return "a number can't begin with 0 and another digit";
  if (/\.(?![0-9])/.test(literal)) return "digits are missing after the point";
  if (/[eE][+-]?$/.test(literal)) return "digits are missing after the e";
  return `${quoted(literal)} is neither a number nor text in double quotes`;
}

/** Where the word that begins at `start` ends: true, false or null. Throws a Problem. */
export function wordEnd(text: string, start: number): number {
  const word = matchAt(WORD, text, start);
  if (word === undefined) throw unexpectedTextProblem(text, start);
  const end = start + word.length;
  if (word === "true" || word === "false" || word === "null") return end;
  throw new Problem(start, end, FOREIGN[word] ?? `${quoted(word)} needs double quotes to be text`);
}

/** The word that stands at `start`, if one does. */
export function wordAt(text: string, start: number): string | undefined {
  return matchAt(WORD, text, start);
}

/** A character that begins no value and closes nothing. */
export function unexpectedTextProblem(text: string, at: number): Problem {
  const char = String.fromCodePoint(text.codePointAt(at) ?? 0);
  const end = at + char.length;
  if (char === "'" || char === "`")
    return new Problem(at, end, "text needs double quotes, not single ones");
  if ("“”„«»".includes(char)) return new Problem(at, end, 'text needs straight quotes: "');
  if (char === "#" || text.startsWith("//", at) || text.startsWith("/*", at)) {
    return new Problem(at, end, "JSON has no comments");
  }
  return new Problem(at, end, `${quoted(char)} can't stand here, where a value is expected`);
}

// ---- Layout without re-encoding: only the white space outside strings changes.
// The scanner is lenient on purpose, since bodies from version 1 agents hold NaN and worse: whatever is
// neither a string nor a bracket is a literal and is copied.

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
