/** JSON whose whole numbers stay what they are: JavaScript rounds those of more than 15 digits. */
import { tokens } from "../inspector/json/print";
import type { Envelope } from "../protocol/messages";

/** Most texts have none, and are read by the browser alone. */
const LARGE = /\d{16}/;
const WHOLE = /^-?\d{16,}$/;
/** The one name of an object that stands for a number. Whoever else writes it means that number. */
const MARK = "\u0000whole";

/** The value of a JSON text; whole numbers that JavaScript would round are bigints. Throws SyntaxError. */
export function exactly(text: string): unknown {
  return LARGE.test(text) ? JSON.parse(marked(text), unmarked) : JSON.parse(text);
}

/** The text with each such number in an object. */
function marked(text: string): string {
  const out: string[] = [];
  let from = 0;
  for (const { kind, start, end } of tokens(text)) {
    if (kind !== "literal" || end - start < 16) continue;
    const literal = text.slice(start, end);
    if (!WHOLE.test(literal) || Number.isSafeInteger(Number(literal))) continue;
    out.push(text.slice(from, start), JSON.stringify({ [MARK]: literal }));
    from = end;
  }
  return out.join("") + text.slice(from);
}

function unmarked(_: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || !(MARK in value)) return value;
  const literal = value[MARK];
  return typeof literal === "string" && WHOLE.test(literal) ? BigInt(literal) : value;
}

/** A message's envelope, as `decode` of protocol/messages.ts; null where it is none. */
export function decodeExactly(text: string): Envelope | null {
  try {
    const envelope = exactly(text) as Partial<Envelope> | null;
    return typeof envelope?.type === "string" && "body" in envelope ? (envelope as Envelope) : null;
  } catch {
    return null;
  }
}
