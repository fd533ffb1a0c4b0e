/** Contents that come as what is new in them: docs/design/0012-pieces.md. */
import type { Pieces } from "../protocol/types.gen";

// As in protocol/pieces.py. This side may forget later than the other, never sooner: it weighs a text
// by its UTF-16 units, of which it has no more than bytes.
const CONTENTS = 256;
const WEIGHT = 16 * 1024 * 1024;
const PIECE = 64;
const MENTION = 8;

interface Piece {
  readonly number: number;
  readonly text: string;
  /** The last content that it is in; 0: it is forgotten. */
  newest: number;
}

/** The receiving side of one connection. */
export class Receiver {
  readonly #pieces = new Map<number, Piece>();
  readonly #contents = new Map<number, readonly Piece[]>();
  #last = 0;
  #numbered = 0;
  #weight = 0;

  /** The text that was told. Throws where it is made of what isn't known: nor is any that follows. */
  text({ number, like, keep, then }: Pieces): string {
    const before = keep ? (this.#contents.get(like) ?? []) : [];
    if (number !== ++this.#last || keep > before.length) throw unknown();
    const content = before.slice(0, keep);
    for (const each of then) content.push(this.#piece(each));
    this.#keep(content);
    return content.map(({ text }) => text).join("");
  }

  #piece(each: number | string): Piece {
    if (typeof each === "number") {
      const piece = this.#pieces.get(each);
      if (!piece) throw unknown();
      return piece;
    }
    const piece = { number: ++this.#numbered, text: each, newest: 0 };
    this.#pieces.set(piece.number, piece);
    this.#weight += each.length + PIECE;
    return piece;
  }

  #keep(content: readonly Piece[]): void {
    for (const piece of content) piece.newest = this.#last;
    this.#contents.set(this.#last, content);
    this.#weight += MENTION * content.length;
    for (const [number, oldest] of this.#contents) {
      if (this.#contents.size <= CONTENTS && this.#weight <= WEIGHT) break;
      this.#forget(number, oldest);
    }
  }

  #forget(number: number, content: readonly Piece[]): void {
    this.#contents.delete(number);
    this.#weight -= MENTION * content.length;
    for (const piece of content) {
      if (piece.newest !== number) continue;
      piece.newest = 0;
      this.#pieces.delete(piece.number);
      this.#weight -= piece.text.length + PIECE;
    }
  }
}

const unknown = () => new Error("unknown_content");
