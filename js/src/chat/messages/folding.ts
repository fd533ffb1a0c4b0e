/** Which part of a text is shown: its beginning, or, of one that was seen coming, its end. Pure. */
import { cut, type Limit } from "../../inspector/fold";
import { textBytes } from "../../inspector/words";
import { size } from "../../view/words";

/** What a message shows at first. */
export const MESSAGE: Limit = { lines: 80, chars: 8_000 };
/** What a block of code shows at first. */
export const CODE: Limit = { lines: 40, chars: 6_000 };
/** Letters of a text that is still coming, or of output: its end. */
export const TAIL = 40_000;

/**
 * Where the shown end of a text begins. It goes on in steps, so that what is read stands still while
 * more comes, and at a line's beginning where one is near.
 */
export function tailFrom(text: string, most = TAIL): number {
  if (text.length <= most) return 0;
  const step = most / 2;
  const at = Math.floor((text.length - step) / step) * step;
  return lineFrom(text, at);
}

/** As many letters more before what is shown. */
export function earlierFrom(text: string, from: number, most: number): number {
  return from <= most ? 0 : lineFrom(text, from - most);
}

/** The beginning of the first line from here on; of a long one, this place or the next letter's. */
function lineFrom(text: string, at: number): number {
  const newline = text.indexOf("\n", at);
  if (newline !== -1 && newline - at < 2_000) return newline + 1;
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff ? at + 1 : at;
}

/** Up to where a text is shown at first, with a few lines' grace. */
export const headTo = (text: string, limit: Limit): number => cut(text, 0, limit);

/** What is said of the part before. */
export const beforeWords = (text: string, from: number): string =>
  `Show the ${size(textBytes(text.slice(0, from)))} before`;
