/** Characters that hide, or turn around what stands beside them, as something to be seen. Pure. */

// Joiners stay: emoji and several scripts are written with them.
const HIDDEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it is for
  /[\0-\x08\v\f\x0e-\x1f\x7f-\x9f\u061c\u200b\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]/g;

/** The text as it is shown; what is copied and sent is the text itself. */
export function visible(text: string): string {
  return text.replace(HIDDEN, shown);
}

/** The characters of a text that can't be seen, by their numbers: each once. */
export function hiddenIn(text: string): string[] {
  return [...new Set(text.match(HIDDEN))].map(number);
}

function shown(char: string): string {
  const code = char.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code); // ␛
  return code === 0x7f ? "␡" : `⟨${number(char)}⟩`;
}

const number = (char: string) =>
  `U+${char.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
