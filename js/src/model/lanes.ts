/**
 * The lanes of a run: the agents whose events its timeline tells apart. Pure; the one place that computes
 * them for views. `agentstepper_nb/protocol/lanes.py` does it for the Core and the terminal.
 */
import type { Lane as FoundLane, TimelineRow } from "../protocol/types.gen";

/** What a part of a scope begins with that is an agent. */
const AGENT_PREFIX = "agent:";
/** So many hues tell lanes apart; the stylesheet has them. */
export const LANE_HUES = 6;

/** The key of the main lane: of what happens in none of the run's agents. */
export const MAIN_LANE = "[]";

export interface Lane {
  /** Its path as JSON. */
  readonly key: string;
  /** The agent's name. */
  readonly name: string;
  /** Which one of its name, from 1, in the order in which they begin. */
  readonly number: number;
  /** The name, and the number from the second on. */
  readonly title: string;
  /** The agent that runs it. */
  readonly parent: string | null;
  /** From 0. */
  readonly hue: number;
}

// Rows are replaced when they change, so that what is known of one stays true.
const keys = new WeakMap<TimelineRow, string>();

/** The key of a row's lane. */
export function laneKey(row: TimelineRow): string {
  if (!row.scope) return MAIN_LANE;
  let key = keys.get(row);
  if (key === undefined) {
    const end = row.scope.findLastIndex((part) => part.startsWith(AGENT_PREFIX)) + 1;
    key = JSON.stringify(row.scope.slice(0, end));
    keys.set(row, key);
  }
  return key;
}

/** The path that a lane's key stands for, as the Core takes it. */
export const lanePath = (key: string): string[] => JSON.parse(key);

/** Where a lane begins. */
interface LaneStart {
  readonly seq: number;
  readonly name: string;
  readonly parent: string | null;
}

/** The lanes of one run, as far as its rows are known. */
export class Lanes {
  static readonly NONE = new Lanes("", new Map(), false);

  /** In the order in which they begin; without the main one. */
  readonly all: readonly Lane[];
  readonly #run: string;
  /** Whether the rows they are computed from were all of the run's. */
  readonly complete: boolean;
  readonly #starts: ReadonlyMap<string, LaneStart>;
  readonly #byKey: ReadonlyMap<string, Lane>;

  private constructor(run: string, starts: ReadonlyMap<string, LaneStart>, complete: boolean) {
    this.#run = run;
    this.#starts = starts;
    this.complete = complete;
    this.all = nameLanes(starts);
    this.#byKey = new Map(this.all.map((lane) => [lane.key, lane]));
  }

  /** A lane by its key; null for the main one. */
  get(key: string): Lane | null {
    return this.#byKey.get(key) ?? null;
  }

  /** The lane of a row; null for the main one. */
  laneOfRow(row: TimelineRow): Lane | null {
    return this.get(laneKey(row));
  }

  /**
   * Those of a run's rows, too: lanes stay known while rows come and go. Of another run, those alone.
   *
   * @param complete Whether these are all of the run's.
   * @param found What the Core has said of the run's lanes: all of them.
   */
  merge(
    run: string,
    rows: readonly TimelineRow[],
    complete: boolean,
    found: readonly FoundLane[] | null,
  ): Lanes {
    const known = run === this.#run ? this : Lanes.NONE;
    const starts = new Map(known.#starts);
    let changed = known !== this;
    const add = (key: string, seq: number, label: TimelineRow["label"] | null) => {
      if (key === MAIN_LANE || seq >= (starts.get(key)?.seq ?? Number.POSITIVE_INFINITY)) return;
      const name = label?.name || nameOfPath(key);
      starts.set(key, { seq, name, parent: label?.parent ?? null });
      changed = true;
    };
    for (const { path, seq, label } of found ?? []) add(JSON.stringify(path), seq, label);
    for (const row of rows) add(laneKey(row), row.seq, row.label);
    const isComplete = known.complete || complete || found !== null;
    if (!changed && isComplete === known.complete) return known;
    return new Lanes(run, starts, isComplete);
  }
}

function nameLanes(starts: ReadonlyMap<string, LaneStart>): readonly Lane[] {
  const counts = new Map<string, number>();
  const ordered = [...starts].sort(([, a], [, b]) => a.seq - b.seq);
  return ordered.map(([key, { name, parent }], at) => {
    const number = (counts.get(name) ?? 0) + 1;
    counts.set(name, number);
    const title = number === 1 ? name : `${name} ${number}`;
    return { key, name, number, title, parent, hue: at % LANE_HUES };
  });
}

/** The agent's name as its part of the path has it, where no label says it: `agent:NAME:2`. */
function nameOfPath(key: string): string {
  const last = lanePath(key).at(-1) ?? "";
  return last.slice(AGENT_PREFIX.length).replace(/:\d+$/, "");
}

/** A lane in words: "Agent researcher 2, in planner". */
export const laneText = ({ title, parent }: Lane): string =>
  `Agent ${title}${parent ? `, in ${parent}` : ""}`;
