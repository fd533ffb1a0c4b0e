/** Which steps of two runs belong together. Pure. */
import type { MessageBody, TimelineRow } from "../model/model";

/** A line of the comparison; one side is missing where only the other run has it. */
export type Pair =
  | { readonly left: TimelineRow; readonly right: TimelineRow }
  | { readonly left: TimelineRow; readonly right: null }
  | { readonly left: null; readonly right: TimelineRow };

/** As many cells are filled at once: some 2,000 rows a side, in a few hundredths of a second. */
const MAX_CELLS = 4_000_000;
/** Rows a side of a window, of which the first half is kept before the next window begins there. */
const WINDOW = 400;

/** Align two runs' rows, each by seq. */
export function align(
  left: readonly TimelineRow[],
  right: readonly TimelineRow[],
  { maxCells = MAX_CELLS, window = WINDOW } = {},
): Pair[] {
  const [a, b] = numbered(left, right);
  const start = commonStart(a, b);
  const end = commonEnd(a, b, start);
  const [one, other] = [part(a, start, end), part(b, start, end)];
  const fits = one.size * other.size <= maxCells;
  const steps = fits ? stepsOf(one, other) : windowed(one, other, window);
  return toPairs(left, right, [...repeat(BOTH, start), ...steps, ...repeat(BOTH, end)]);
}

/** What stands on the next line. */
type Step = 0 | 1 | 2;
const BOTH = 0;
const LEFT = 1;
const RIGHT = 2;

/** Rows as numbers: the same number is alike, and the same words are equal. */
interface Keys {
  readonly size: number;
  readonly kinds: Int32Array;
  readonly words: Int32Array;
}

function numbered(left: readonly TimelineRow[], right: readonly TimelineRow[]): [Keys, Keys] {
  const { events } = forkLinks(left, right);
  const known = new Map<string, number>();
  const number = (key: string) => {
    const found = known.get(key) ?? known.size;
    known.set(key, found);
    return found;
  };
  const keys = (rows: readonly TimelineRow[]): Keys => ({
    size: rows.length,
    kinds: Int32Array.from(rows, (row) => number(kindOf(row, events))),
    words: Int32Array.from(rows, (row) =>
      number(`${kindOf(row, events)} ${events.has(row.event) ? "" : row.summary}`),
    ),
  });
  return [keys(left), keys(right)];
}

/** What a row has to share with another to stand beside it: of a fork's event, that event alone. */
function kindOf(row: TimelineRow, events: ReadonlyMap<string, string>): string {
  const { kind, side, name, depth } = row;
  const event = events.get(row.event);
  return JSON.stringify(event === undefined ? [kind, side, name, depth] : [event, side]);
}

/** How the events of a fork and those of the run that it is a fork of belong together. */
export interface ForkLinks {
  /** The recorded event that an event of either run is. */
  readonly events: ReadonlyMap<string, string>;
  /** The events of both whose outcome is the recorded one. */
  readonly served: ReadonlySet<string>;
}

/** What the marks of a fork say, whichever of the two runs is the fork. */
export function forkLinks(left: readonly TimelineRow[], right: readonly TimelineRow[]): ForkLinks {
  const events = new Map<string, string>();
  const served = new Set<string>();
  const link = (forks: readonly TimelineRow[], recorded: readonly TimelineRow[]) => {
    const known = new Set(recorded.map(({ event }) => event));
    for (const { event, replay } of forks) {
      if (replay?.event === undefined || !known.has(replay.event) || !OWN.has(replay.role))
        continue;
      events.set(event, replay.event).set(replay.event, replay.event);
      if (replay.role === "served") served.add(event).add(replay.event);
      if (replay.role === "forked") for (const id of [event, replay.event]) served.delete(id);
    }
  };
  link(left, right);
  link(right, left);
  return { events, served };
}

/** Roles of an event that is the recorded one; others only name what was expected. */
const OWN: ReadonlySet<string> = new Set(["served", "entered", "forked"]);

function part({ kinds, words, size }: Keys, start: number, end: number): Keys {
  const to = size - end;
  return { size: to - start, kinds: kinds.subarray(start, to), words: words.subarray(start, to) };
}

/** Rows that are equal from the start: no alignment is better than to put them together. */
function commonStart(a: Keys, b: Keys): number {
  const most = Math.min(a.size, b.size);
  let at = 0;
  while (at < most && a.words[at] === b.words[at]) at += 1;
  return at;
}

function commonEnd(a: Keys, b: Keys, start: number): number {
  const most = Math.min(a.size, b.size) - start;
  let at = 0;
  while (at < most && a.words[a.size - 1 - at] === b.words[b.size - 1 - at]) at += 1;
  return at;
}

/** Two alike rows weigh more than any number of equal summaries. */
const ALIKE = 1 << 16;

/** The best way from the start to the end of both, by dynamic programming. */
function stepsOf(a: Keys, b: Keys): Step[] {
  const ways = waysOf(a, b);
  const steps: Step[] = [];
  let i = 0;
  let j = 0;
  while (i < a.size && j < b.size) {
    const step = ways[i * b.size + j] as Step;
    steps.push(step);
    if (step !== RIGHT) i += 1;
    if (step !== LEFT) j += 1;
  }
  return [...steps, ...repeat(LEFT, a.size - i), ...repeat(RIGHT, b.size - j)];
}

/** For each cell the step that begins the best way from there to the end. */
function waysOf(a: Keys, b: Keys): Uint8Array {
  const ways = new Uint8Array(a.size * b.size);
  let below = new Int32Array(b.size + 1); // the worth of the ways from the next row of `a`
  let here = new Int32Array(b.size + 1);
  for (let i = a.size - 1; i >= 0; i -= 1) {
    const kind = a.kinds[i];
    const words = a.words[i];
    let next = 0; // the worth of the way from (i, j + 1)
    for (let j = b.size - 1; j >= 0; j -= 1) {
      const down = below[j] ?? 0;
      let best = down >= next ? down : next;
      let way = down >= next ? LEFT : RIGHT;
      if (b.kinds[j] === kind) {
        const both = (below[j + 1] ?? 0) + ALIKE + (b.words[j] === words ? 1 : 0);
        if (both >= best) {
          best = both;
          way = BOTH;
        }
      }
      ways[i * b.size + j] = way;
      here[j] = best;
      next = best;
    }
    [below, here] = [here, below];
  }
  return ways;
}

/** Window by window: of each the first half of its rows is kept, and the rest is looked at again. */
function windowed(a: Keys, b: Keys, window: number): Step[] {
  const steps: Step[] = [];
  let i = 0;
  let j = 0;
  while (i < a.size && j < b.size) {
    const [restA, restB] = [a.size - i, b.size - j];
    const last = restA <= window && restB <= window;
    const found = stepsOf(
      part(a, i, Math.max(0, restA - window)),
      part(b, j, Math.max(0, restB - window)),
    );
    const kept = last ? found : found.slice(0, Math.ceil(found.length / 2));
    for (const step of kept) {
      steps.push(step);
      if (step !== RIGHT) i += 1;
      if (step !== LEFT) j += 1;
    }
  }
  return [...steps, ...repeat(LEFT, a.size - i), ...repeat(RIGHT, b.size - j)];
}

function repeat(step: Step, times: number): Step[] {
  return new Array<Step>(times).fill(step);
}

function toPairs(
  left: readonly TimelineRow[],
  right: readonly TimelineRow[],
  steps: readonly Step[],
): Pair[] {
  let i = 0;
  let j = 0;
  return steps.map((step) => {
    const one = step === RIGHT ? undefined : left[i++];
    const other = step === LEFT ? undefined : right[j++];
    return { left: one ?? null, right: other ?? null } as Pair;
  });
}

// ---- What two rows beside each other have to do with one another. Pure.

/** Both do the same, both do it with other contents, or only one run does it. */
export type PairDifference = "same" | "changed" | "left" | "right";

/** What is known of pairs whose contents were compared, by their ids. */
export type ComparedContents = ReadonlyMap<string, "same" | "changed">;

/** What a pair is known by. */
export function idOf({ left, right }: Pair): string {
  return JSON.stringify([left?.id ?? null, right?.id ?? null]);
}

/**
 * The difference of a pair: by its contents where those were compared, else by what its rows say.
 *
 * @param served The events of a fork and its parent that have the same outcome, by `forkLinks`.
 */
export function differenceOf(
  pair: Pair,
  compared: ComparedContents,
  served: ReadonlySet<string> = NONE,
): PairDifference {
  const { left, right } = pair;
  if (right === null) return "left";
  if (left === null) return "right";
  if (served.has(left.event) && served.has(right.event)) return "same";
  return compared.get(idOf(pair)) ?? (looksSame(left, right) ? "same" : "changed");
}

const NONE: ReadonlySet<string> = new Set();

/** Whether two rows say the same of themselves. */
function looksSame(left: TimelineRow, right: TimelineRow): boolean {
  return left.summary === right.summary && left.size === right.size && endsAlike(left, right);
}

function endsAlike(left: TimelineRow, right: TimelineRow): boolean {
  return (
    left.outcome === right.outcome &&
    left.answer === right.answer &&
    left.edited === right.edited &&
    left.failure?.type === right.failure?.type &&
    left.failure?.message === right.failure?.message
  );
}

/** The text in force of a row: what the agent went on with. */
export const textOf = ({ data, edit }: MessageBody): string => edit ?? data;

/** The difference of two rows whose contents are here. */
export function compare(
  [left, right]: readonly [TimelineRow, TimelineRow],
  [one, other]: readonly [MessageBody, MessageBody],
): "same" | "changed" {
  return textOf(one) === textOf(other) && endsAlike(left, right) ? "same" : "changed";
}

/** The next difference from a line on, in a direction; the last one there is where there is none. */
export function nextDifference(
  differences: readonly PairDifference[],
  from: number,
  by: 1 | -1,
): number | null {
  for (let at = from + by; at >= 0 && at < differences.length; at += by) {
    if (differences[at] !== "same") return at;
  }
  return null;
}
