/** Sizes of texts. */

const encoder = new TextEncoder();
const SAMPLE = 4096;

/** The size of a text as it travels; an estimate for long ones, where encoding a copy would cost. */
export function textBytes(text: string): number {
  if (text.length <= SAMPLE) return encoder.encode(text).length;
  return Math.round((text.length * encoder.encode(text.slice(0, SAMPLE)).length) / SAMPLE);
}
