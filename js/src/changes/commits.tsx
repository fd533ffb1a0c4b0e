/** The commits of a run, newest first. */
import { useState } from "preact/hooks";
import { Icon } from "../icons/icon";
import type { Commit, Model, Row } from "../model/model";
import { clock, count } from "../view/words";
import { Diffstat } from "./diffstat";
import { focusItem, move, used } from "./roving";
import { totals } from "./tree";

/** The row that each commit belongs to, by the commit's id: its event's first, else the last before it. */
export function rowsOfCommits(rows: readonly Row[], commits: readonly Commit[]): Map<string, Row> {
  const events = new Map<string, Row>();
  const numbers = new Map<number, Row>();
  for (const row of rows) {
    if (!events.has(row.event)) events.set(row.event, row);
    numbers.set(row.seq, row);
  }
  const found = new Map<string, Row>();
  for (const { id, event, seq } of commits) {
    const row = (event === null ? undefined : events.get(event)) ?? numbers.get(seq);
    if (row) found.set(id, row);
  }
  return found;
}

/** As many are put on the page at once. */
const BATCH = 200;

interface CommitsProps {
  model: Model;
  /** Newest first. */
  commits: readonly Commit[];
  /** The row of each. */
  rows: ReadonlyMap<string, Row>;
  selected: Commit;
  onSelect(commit: Commit): void;
}

export function Commits({ model, commits, rows, selected, onSelect }: CommitsProps) {
  const at = commits.indexOf(selected);
  const [shown, setShown] = useState(BATCH);
  const end = Math.min(commits.length, Math.max(shown, at + 1));
  const rest = commits.length - end;
  const onKeyDown = (event: KeyboardEvent) => {
    const to = move(event.key, at, end);
    const next = to === undefined ? undefined : commits[to];
    if (!next || to === undefined) return;
    used(event);
    onSelect(next);
    focusItem(event.currentTarget as Element, to);
  };
  return (
    <div class="as-Scroll as-Commits">
      <div role="listbox" aria-label="Commits" onKeyDown={onKeyDown}>
        {commits.slice(0, end).map((commit) => (
          <Item
            key={commit.id}
            model={model}
            commit={commit}
            row={rows.get(commit.id)}
            selected={commit === selected}
            onSelect={onSelect}
          />
        ))}
      </div>
      {rest > 0 && (
        <button type="button" class="as-Fold" onClick={() => setShown(shown + BATCH)}>
          {`Show earlier ones: ${count(rest, "commit")}`}
        </button>
      )}
    </div>
  );
}

interface ItemProps {
  model: Model;
  commit: Commit;
  row: Row | undefined;
  selected: boolean;
  onSelect(commit: Commit): void;
}

function Item({ model, commit, row, selected, onSelect }: ItemProps) {
  const changes = commit.changes;
  const first = changes.length === 0;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the list takes the keys
    <div
      class="as-Commit"
      role="option"
      data-item
      aria-selected={selected}
      tabIndex={selected ? 0 : -1}
      title={commit.description || commit.title}
      onClick={() => onSelect(commit)}
    >
      <span class={`as-Actor as-mod-${first ? "system" : "agent"}`}>
        <Icon name={first ? "commit" : "agent"} />
      </span>
      <span class="as-Ellipsis">{commit.title}</span>
      <Diffstat {...totals(changes)} />
      <span class="as-Commit-sub">
        <span class="as-Code">{shortHash(commit)}</span>
        {row && (
          <button
            type="button"
            class="as-Link as-Small"
            tabIndex={-1}
            title={`Go to event ${row.seq} in the timeline`}
            onClick={(event) => {
              event.stopPropagation();
              model.reveal(row.id);
            }}
          >
            {`event ${row.seq}`}
          </button>
        )}
        <span class="as-Spring" />
        <span>{clock(commit.at)}</span>
      </span>
    </div>
  );
}

export function shortHash(commit: Commit): string {
  return commit.id.slice(0, 7);
}
