/** Which words of two lines differ. */
import { diffWordsWithSpace } from "diff";

export interface Piece {
  readonly text: string;
  readonly changed: boolean;
}

interface Edit {
  readonly added: boolean;
  readonly removed: boolean;
}

const MOST_CHARS = 4000;
const MOST_EDITS = 400;
/** Lines that share less of the shorter than this are better read whole than speckled with marks. */
const LEAST_SHARED = 0.25;

/** The pieces of both lines; undefined where marking words would not help. */
export function wordMarks(before: string, after: string): [Piece[], Piece[]] | undefined {
  if (before.length + after.length > MOST_CHARS) return undefined;
  const changes = diffWordsWithSpace(before, after, { maxEditLength: MOST_EDITS });
  if (!changes) return undefined;
  const left: Piece[] = [];
  const right: Piece[] = [];
  changes.forEach((change, at) => {
    const bridge = !change.added && !change.removed && isBridge(change.value, changes, at);
    const changed = change.added || change.removed || bridge;
    if (!change.added) push(left, change.value, changed);
    if (!change.removed) push(right, change.value, changed);
  });
  return shared(left) >= LEAST_SHARED * Math.min(visible(before), visible(after))
    ? [left, right]
    : undefined;
}

/** A blank or a lone character between two changed words belongs to the change: marks aren't specks. */
function isBridge(text: string, changes: readonly Edit[], at: number): boolean {
  const changed = (one?: Edit) => Boolean(one?.added || one?.removed);
  return visible(text) < 2 && changed(changes[at - 1]) && changed(changes[at + 1]);
}

function push(pieces: Piece[], text: string, changed: boolean): void {
  const last = pieces.at(-1);
  if (last?.changed === changed) pieces[pieces.length - 1] = { text: last.text + text, changed };
  else pieces.push({ text, changed });
}

function shared(pieces: readonly Piece[]): number {
  return pieces.reduce((sum, one) => sum + (one.changed ? 0 : visible(one.text)), 0);
}

function visible(text: string): number {
  return text.replace(/\s+/g, "").length;
}
