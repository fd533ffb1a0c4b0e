/**
 * Characters that nobody sees, or that turn around what stands beside them, as something to be seen. Pure.
 * agentstepper_nb/protocol/visible.py has the same rule; one table of all code points holds both to it.
 */

// By Unicode's properties. Not tabs and line ends. Not a joiner in a script that has letters beyond ASCII
// or in an emoji, which are written with them, nor what chooses an emoji's look.
const HIDDEN =
  /(?![\t\n\r]|(?<=\p{Emoji})[\ufe0e\ufe0f]|(?<=[^\0-\x7f\u200c\u200d])[\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

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
  `U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
