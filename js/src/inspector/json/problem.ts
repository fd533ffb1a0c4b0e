/** What is wrong with a JSON text, in words a person can act on. */
export class Problem {
  constructor(
    /** Where to mark it. */
    readonly at: number,
    readonly end: number,
    /** A sentence without its line: "a comma is missing after the value of “x”". */
    readonly words: string,
  ) {}

  /** The whole sentence, as it is shown. */
  sentence(text: string): string {
    return `Line ${lineOf(text, this.at)}: ${this.words}.`;
  }
}

/** The number of the line, from 1, that an offset is on. */
export function lineOf(text: string, offset: number): number {
  let line = 1;
  for (let at = text.indexOf("\n"); at !== -1 && at < offset; at = text.indexOf("\n", at + 1)) {
    line += 1;
  }
  return line;
}

/** A name as it is quoted in a sentence. */
export function quoted(name: string): string {
  return `“${name.length > 40 ? `${name.slice(0, 39)}…` : name}”`;
}
