/** What a search has found: by run, with the words around each place. */

import { useRef, useState } from "preact/hooks";
import type { Debugger } from "../model/debugger";
import { historyOf, MAX_HITS, type SearchState } from "../model/history";
import type { Run } from "../model/model";
import { runStatus } from "../model/status";
import type { SearchHit } from "../protocol/types.gen";
import { Button } from "../view/button";
import { consumeKey, nextItemIndex } from "../view/focus";
import { escapeInvisible, formatCount, formatDate } from "../view/format";
import { Snippet, StateMark } from "../view/notices";
import { matchesFilter } from "./sorting";
import { openRun } from "./table";

interface ResultsProps {
  model: Debugger;
  searchState: SearchState;
}

export function Results({ model, searchState }: ResultsProps) {
  const { hits, query } = searchState;
  const history = historyOf(model);
  const filter = history.filter.value;
  const groups = groupByRun(hits ?? [], model.runs.value, (run) => matchesFilter(run, filter));
  const flat = groups.flatMap((group) => group.hits);
  const list = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState(0);
  const at = Math.min(active, Math.max(0, flat.length - 1));
  const onKeyDown = (event: KeyboardEvent) => {
    const hit = flat[at];
    const to = nextItemIndex(event.key, at, flat.length);
    if (event.key === "Escape") {
      void history.search("");
      history.focused.value = {};
    } else if (event.key === "Enter" && hit) void revealHit(model, hit);
    else if (to !== undefined) {
      setActive(to);
      focusHit(list.current, to);
    } else return;
    consumeKey(event);
  };
  let index = -1;
  return (
    <div class="as-Scroll as-Hits">
      <ResultsStatus searchState={searchState} found={flat.length} />
      <div ref={list} role="listbox" aria-label={`Found: ${query}`} onKeyDown={onKeyDown}>
        {groups.map(({ run, hits: those }) => (
          <div key={run.id} role="group" aria-label={escapeInvisible(run.name)}>
            <GroupHead run={run} />
            {those.map((hit) => {
              index += 1;
              return <Place key={index} model={model} hit={hit} active={index === at} />;
            })}
          </div>
        ))}
      </div>
      {searchState.more && <More model={model} searchState={searchState} />}
    </div>
  );
}

function ResultsStatus({ searchState, found }: { searchState: SearchState; found: number }) {
  const { query, hits, busy, problem } = searchState;
  if (problem !== null) {
    return (
      <p class="as-Hits-told as-Bad" role="alert">
        {problem}
      </p>
    );
  }
  const all = hits?.length ?? 0;
  const words =
    hits === null
      ? "Searching…"
      : found === 0 && all === 0
        ? `No match for “${escapeInvisible(query)}”.`
        : `${formatCount(found, "place")}${found < all ? `, ${all - found} more in runs that the filter leaves out` : ""}`;
  return (
    <p class="as-Hits-told as-Muted" role="status">
      {busy && hits !== null ? `${words} · searching…` : words}
    </p>
  );
}

function GroupHead({ run }: { run: Run }) {
  const status = runStatus(run);
  return (
    <div class="as-Hits-run" aria-hidden="true">
      <StateMark status={status} title={status.words} />
      <span class="as-Ellipsis">{escapeInvisible(run.name)}</span>
      <span class="as-Spring" />
      <span class="as-Hits-when as-Small as-Muted">{formatDate(run.started_at)}</span>
    </div>
  );
}

interface PlaceProps {
  model: Debugger;
  hit: SearchHit;
  active: boolean;
}

const PLACES: Record<SearchHit["place"], string> = {
  row: "Event",
  commit: "Commit",
  note: "Note",
  run: "Run",
};

function Place({ model, hit, active }: PlaceProps) {
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the list takes the keys
    <div
      class="as-Hit"
      role="option"
      aria-selected={active}
      tabIndex={active ? 0 : -1}
      onClick={() => void revealHit(model, hit)}
    >
      <span class="as-Hit-place">{placeText(model, hit)}</span>
      <span class="as-Hit-text">
        <Snippet parts={hit.snippet} />
      </span>
    </div>
  );
}

/** Where it is; with the number where the run is the shown one, whose rows are here. */
function placeText(model: Debugger, { run, place, id }: SearchHit): string {
  const row = run === model.run.value?.id && model.rows.value.find((each) => each.id === id);
  return row ? `${PLACES[place]} ${row.seq}` : PLACES[place];
}

/** Show what was found: its row, its commit, or the run. */
async function revealHit(model: Debugger, { run, place, id }: SearchHit): Promise<void> {
  if (place === "run" || id === null) return openRun(model, run);
  await model.openRun(run);
  if (model.run.peek()?.id !== run) return; // the strip says why
  if (place === "commit") model.openCommit(id, null);
  else model.reveal(id);
}

function focusHit(list: Element | null, at: number): void {
  const hit = list?.querySelectorAll<HTMLElement>(".as-Hit")[at];
  hit?.focus({ preventScroll: true });
  hit?.scrollIntoView({ block: "nearest" });
}

function More({ model, searchState }: ResultsProps) {
  const all = (searchState.hits?.length ?? 0) >= MAX_HITS;
  return (
    <p class="as-Hits-told as-Muted">
      {all ? (
        "Older runs have more matches: search for other or more words to find them."
      ) : (
        <Button
          outline
          hint="Search older runs too"
          onClick={() => void historyOf(model).search(searchState.query, MAX_HITS)}
        >
          Show more places
        </Button>
      )}
    </p>
  );
}

// ---- What a search has found, by run. Pure.

/** A run, and where in it the words stand. */
export interface Group {
  readonly run: Run;
  readonly hits: readonly SearchHit[];
}

/** Hits by run, as they came: newest first. Those of runs that `wanted` refuses are left out. */
export function groupByRun(
  hits: readonly SearchHit[],
  runs: readonly Run[],
  wanted: (run: Run) => boolean,
): Group[] {
  const byId = new Map(runs.map((run) => [run.id, run]));
  const found = new Map<string, SearchHit[]>();
  for (const hit of hits) found.set(hit.run, [...(found.get(hit.run) ?? []), hit]);
  return [...found].flatMap(([id, those]) => {
    const run = byId.get(id);
    return run && wanted(run) ? [{ run, hits: those }] : [];
  });
}
