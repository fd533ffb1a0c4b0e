/** Find in the shown run: in all that was said and noted in it, also where it isn't here yet. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Debugger } from "../model/debugger";
import type { SearchHit } from "../protocol/types.gen";
import { Button } from "../view/button";
import { SearchField } from "../view/fields";
import { formatCount } from "../view/format";
import { Snippet } from "../view/notices";

export { default as styles } from "../styles/find.css";

export function Find({ model }: { model: Debugger }) {
  const bar = useRef<HTMLDivElement>(null);
  const { text, write, runSearch, at, step, go } = useRunSearch(model);
  const request = model.searchRequest.value;
  // Asked for again, the words are there to be written over.
  useLayoutEffect(() => {
    const input = bar.current?.querySelector("input");
    input?.focus();
    input?.select();
  }, [request]);
  const close = () => {
    const pane = bar.current?.closest(".as-Pane");
    model.searchRequest.value = null;
    pane?.querySelector<HTMLElement>('.as-Row[tabindex="0"]')?.focus({ preventScroll: true });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.isComposing) return;
    if (event.key === "Escape") close();
    else if (event.key === "Enter" && event.target instanceof HTMLInputElement)
      void step(event.shiftKey ? -1 : 1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const places = runSearch?.places ?? [];
  return (
    <div
      ref={bar}
      class="as-Find"
      role="search"
      aria-label="Find in this run"
      onKeyDown={onKeyDown}
    >
      <div class="as-PaneBar">
        <SearchField
          label="Find in this run"
          placeholder="Find in this run"
          title="Searches prompts, answers, tools’ inputs and outputs, and notes (Enter: next, Shift+Enter: previous)"
          spellcheck={false}
          maxLength={1000}
          value={text}
          onText={write}
        />
        <span class="as-Find-status as-Muted as-Small" role="status">
          {runSearch && statusText(runSearch, at)}
        </span>
        <Button
          icon="down"
          class="as-mod-up"
          hint="Previous match (Shift+Enter)"
          disabledReason={navigationDisabledReason(places)}
          onClick={() => void step(-1)}
        />
        <Button
          icon="down"
          hint="Next match (Enter)"
          disabledReason={navigationDisabledReason(places)}
          onClick={() => void step(1)}
        />
        <Button icon="close" hint="Close (Esc)" onClick={close} />
      </div>
      {runSearch?.problem && (
        <p class="as-Find-note as-Bad" role="alert">
          {runSearch.problem}
        </p>
      )}
      {runSearch && places.length + runSearch.commits.length > 0 && (
        <Places model={model} runSearch={runSearch} at={at} onGo={(to) => go(places, to)} />
      )}
    </div>
  );
}

const navigationDisabledReason = (places: readonly SearchHit[]): string | null =>
  places.length > 0 ? null : "There is no match yet";

function statusText({ places, commits, problem, more }: RunSearch, at: number): string {
  if (problem !== null || places === null) return "";
  if (places.length === 0)
    return commits.length > 0 ? formatCount(commits.length, "commit") : "No match";
  const all = places.length.toLocaleString("en-US") + (more ? "+" : "");
  return at < 0 ? all : `${(at + 1).toLocaleString("en-US")} of ${all}`;
}

interface PlacesProps {
  model: Debugger;
  runSearch: RunSearch;
  at: number;
  onGo(to: number): void;
}

function Places({ model, runSearch, at, onGo }: PlacesProps) {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    list.current?.querySelector('[aria-current="true"]')?.scrollIntoView({ block: "nearest" });
  }, [at]);
  return (
    <div ref={list} class="as-Find-places as-Scroll">
      {runSearch.more && (
        <p class="as-Find-note as-Muted">
          There are older places, too: more words, or a rarer one, find them.
        </p>
      )}
      {runSearch.places?.map((hit, index) => (
        <Place
          key={`${hit.place} ${hit.id} ${index}`}
          hit={hit}
          where={where(model, hit)}
          current={index === at}
          onGo={() => onGo(index)}
        />
      ))}
      {runSearch.commits.map((hit) => (
        <Place
          key={`commit ${hit.id}`}
          hit={hit}
          where="Commit"
          current={false}
          onGo={() => hit.id !== null && model.openCommit(hit.id, null)}
        />
      ))}
    </div>
  );
}

/** Its number, where its row is here. */
function where(model: Debugger, { place, id }: SearchHit): string {
  const seq = model.window.rows.value.find(id)?.seq;
  const word = place === "note" ? "Note" : "Event";
  return seq === undefined ? word : `${word} ${seq.toLocaleString("en-US")}`;
}

interface PlaceProps {
  hit: SearchHit;
  where: string;
  current: boolean;
  onGo(): void;
}

function Place({ hit, where, current, onGo }: PlaceProps) {
  return (
    <button type="button" class="as-Find-place" aria-current={current} onClick={onGo}>
      <span class="as-Find-where">{where}</span>
      <span class="as-Ellipsis">
        <Snippet parts={hit.snippet} />
      </span>
    </button>
  );
}

// ---- What a search in the shown run has come to, and which place is gone to next.

/** Words are looked for once the person pauses. */
const TYPING_PAUSE_MS = 250;

export interface RunSearch {
  readonly query: string;
  /** Places at rows, in the order of the run; null until there was an answer. */
  readonly places: readonly SearchHit[] | null;
  /** Commits, which stand in the Changes tab. */
  readonly commits: readonly SearchHit[];
  /** Whether there are older places than these. */
  readonly more: boolean;
  readonly problem: string | null;
}

/** Steps from place to place, round and round. */
export function nextMatch(at: number, by: number, count: number): number {
  if (count === 0) return -1;
  if (at < 0) return by > 0 ? 0 : count - 1;
  return (at + by + count) % count;
}

/** A search by its words, and the place that was gone to last; -1 is none. */
export function useRunSearch(model: Debugger) {
  const [text, setText] = useState("");
  const [runSearch, setRunSearch] = useState<RunSearch | null>(null);
  const [at, setAt] = useState(-1);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const lastQuery = useRef("");
  useEffect(() => () => clearTimeout(timer.current), []);

  const runQuery = async (query: string): Promise<RunSearch | null> => {
    clearTimeout(timer.current);
    lastQuery.current = query;
    const found = query === "" ? null : await search(model, query);
    if (lastQuery.current !== query) return null; // other words are looked for by now
    setRunSearch(found);
    setAt(-1);
    return found;
  };
  const write = (words: string) => {
    setText(words);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => void runQuery(words.trim()), TYPING_PAUSE_MS);
  };
  const go = (places: readonly SearchHit[], to: number) => {
    setAt(to);
    const id = places[to]?.id;
    if (id != null) model.reveal(id);
  };
  /** Go to the next place, or the one before; where the words are new, to the first. */
  const step = async (by: number) => {
    const query = text.trim();
    const known = runSearch?.query === query && runSearch.problem === null ? runSearch : null;
    const places = (known ?? (await runQuery(query)))?.places ?? [];
    go(places, nextMatch(known ? at : -1, by, places.length));
  };
  return { text, write, runSearch, at, step, go };
}

async function search(model: Debugger, query: string): Promise<RunSearch> {
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
