import { type Token, tokens } from "../../src/inspector/json/print";

/** A text without white space outside strings: what two layouts of it have in common. */
export function compact(text: string): string {
  const out: string[] = [];
  let before: Token["kind"] | undefined;
  for (const token of tokens(text)) {
    if (before !== undefined && isValue(before) && isValue(token.kind)) out.push(" ");
    out.push(text.slice(token.start, token.end));
    before = token.kind;
  }
  return out.join("");
}

function isValue(kind: Token["kind"]): boolean {
  return kind === "string" || kind === "literal";
}
