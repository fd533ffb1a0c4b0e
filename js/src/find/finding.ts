/** What a search in the shown run has come to, and which place is gone to next. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { Debugger } from "../model/debugger";
import type { Hit } from "../protocol/types.gen";

/** Words are looked for once the person pauses. */
const PAUSE_MS = 250;

export interface Finding {
  readonly query: string;
  /** Places at rows, in the order of the run; null until there was an answer. */
  readonly places: readonly Hit[] | null;
  /** Commits, which stand in the Changes tab. */
  readonly commits: readonly Hit[];
  /** Whether there are older places than these. */
  readonly more: boolean;
  readonly problem: string | null;
}

/** Steps from place to place, round and round. */
export function nextPlace(at: number, by: number, count: number): number {
  if (count === 0) return -1;
  if (at < 0) return by > 0 ? 0 : count - 1;
  return (at + by + count) % count;
}

/** A search by its words, and the place that was gone to last; -1 is none. */
export function useFinding(model: Debugger) {
  const [text, setText] = useState("");
  const [finding, setFinding] = useState<Finding | null>(null);
  const [at, setAt] = useState(-1);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const asked = useRef("");
  useEffect(() => () => clearTimeout(timer.current), []);

  const look = async (query: string): Promise<Finding | null> => {
    clearTimeout(timer.current);
    asked.current = query;
    const found = query === "" ? null : await search(model, query);
    if (asked.current !== query) return null; // other words are looked for by now
    setFinding(found);
    setAt(-1);
    return found;
  };
  const write = (words: string) => {
    setText(words);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => void look(words.trim()), PAUSE_MS);
  };
  const go = (places: readonly Hit[], to: number) => {
    setAt(to);
    const id = places[to]?.id;
    if (id != null) model.reveal(id);
  };
  /** Go to the next place, or the one before; where the words are new, to the first. */
  const step = async (by: number) => {
    const query = text.trim();
    const known = finding?.query === query && finding.problem === null ? finding : null;
    const places = (known ?? (await look(query)))?.places ?? [];
    go(places, nextPlace(known ? at : -1, by, places.length));
  };
  return { text, write, finding, at, step, go };
}

async function search(model: Debugger, query: string): Promise<Finding> {
  try {
    const { hits, more } = await model.searchRun(query);
    const oldestFirst = hits.toReversed();
    return {
      query,
      places: oldestFirst.filter(({ place }) => place === "row" || place === "note"),
      commits: oldestFirst.filter(({ place }) => place === "commit"),
      more,
      problem: null,
    };
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    return { query, places: null, commits: [], more: false, problem };
  }
}
