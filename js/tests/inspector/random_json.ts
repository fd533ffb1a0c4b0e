/** Random JSON texts with everything that re-encoding would lose; seeded, so that a failure repeats. */

export type Random = () => number;

/** mulberry32 */
export function seeded(seed: number): Random {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

export function pick<T>(random: Random, from: readonly T[]): T {
  const found = from[Math.floor(random() * from.length)];
  if (found === undefined) throw new Error("nothing to pick from");
  return found;
}

const NUMBERS = [
  "0",
  "-0",
  "1.0",
  "1.50",
  "12345678901234567890",
  "1E5",
  "1e-400",
  "-12.50e+02",
  "0.1",
];
const STRINGS = [
  '""',
  '"a"',
  '"\\u00e9 \\n \\" \\\\"',
  '"é 漢字 🙂"',
  '"{\\"Tool\\": [1, 2]}"',
  '"a:b,c]}"',
  '"\\ud83d\\ude42"',
  '"/\\/"',
];
const WORDS = ["true", "false", "null"];
const SPACE = ["", "", " ", "\n", "\t", "  \r\n "];

/** One JSON value with random white space around everything; keys may stand twice. */
export function randomJson(random: Random, depth = 4): string {
  const space = () => pick(random, SPACE);
  const kind = random();
  if (depth === 0 || kind < 0.5) {
    return space() + pick(random, pick(random, [NUMBERS, STRINGS, WORDS])) + space();
  }
  const length = Math.floor(random() * 4);
  const value = () => randomJson(random, depth - 1);
  if (kind < 0.75) return `${space()}[${repeat(length, value) || space()}]${space()}`;
  const member = () => `${space()}${pick(random, STRINGS)}${space()}:${value()}`;
  return `${space()}{${repeat(length, member) || space()}}${space()}`;
}

function repeat(times: number, make: () => string): string {
  return Array.from({ length: times }, make).join(",");
}
