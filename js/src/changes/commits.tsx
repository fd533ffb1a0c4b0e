/** The commits of a run, newest first. */
import { useState } from "preact/hooks";
import { Icon, type IconName } from "../icons/icon";
import { type CommitEntry, eventOf, snapshotsBelow, titleOf } from "../model/commits";
import type { Commit, Model, TimelineRow } from "../model/model";
import { consumeKey, focusItem, nextItemIndex } from "../view/focus";
import { escapeInvisible, formatClock, formatCount } from "../view/format";
import { cx } from "../view/hooks";
import { Diffstat } from "./change_badges";
import { totals } from "./tree";

/** A line of the list: a named commit, a snapshot of its own, or a step beneath a named commit. */
export interface CommitLine {
  readonly commit: Commit;
  /** Whether it stands beneath another. */
  readonly step: boolean;
  /** The row that it belongs to, where that is here. */
  readonly row: TimelineRow | undefined;
}

/** The number of the row that a line belongs to: its event's, or else the last before it; 0: none. */
export const seqOf = ({ commit, row }: Pick<CommitLine, "commit" | "row">): number =>
  row?.seq ?? commit.seq;

/** The lines of all commits, newest first. */
export function commitLines(
  entries: readonly CommitEntry[],
  rows: readonly TimelineRow[],
): CommitLine[] {
  const rowOf = rowFinder(rows);
  return entries.toReversed().flatMap((entry) => {
    const { commit } = entry;
    const steps = snapshotsBelow(entry).toReversed();
    return [
      { commit, step: false, row: rowOf(eventOf(entry), commit.seq) },
      ...steps.map((one) => ({ commit: one, step: true, row: rowOf(one.event, one.seq) })),
    ];
  });
}

/** Finds the row of a commit: its event's last, as in the timeline, else the last before it. */
function rowFinder(rows: readonly TimelineRow[]) {
  const events = new Map<string, TimelineRow>();
  const numbers = new Map<number, TimelineRow>();
  for (const row of rows) {
    events.set(row.event, row);
    numbers.set(row.seq, row);
  }
  return (event: string | null, seq: number) =>
    (event === null ? undefined : events.get(event)) ?? numbers.get(seq);
}

/** As many are put on the page at once. */
const BATCH = 200;

interface CommitsProps {
  model: Model;
  /** Newest first. */
  lines: readonly CommitLine[];
  selected: Commit;
  onSelect(commit: Commit): void;
}

export function Commits({ model, lines, selected, onSelect }: CommitsProps) {
  const at = lines.findIndex(({ commit }) => commit === selected);
  const [shown, setShown] = useState(BATCH);
  const end = Math.min(lines.length, Math.max(shown, at + 1));
  const rest = lines.length - end;
  const all = model.allCommits.value;
  const named = lines.filter(({ step }) => !step).length;
  const left = rest + (all ? 0 : Math.max(0, model.commitCount.value - named));
  const showMore = async () => {
    if (rest < BATCH) await model.moreCommits();
    setShown(end + BATCH);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const line = lines[at];
    if (event.key === "Enter" && line && seqOf(line) > 0) {
      consumeKey(event);
      model.reveal(line.row?.id ?? seqOf(line));
      return;
    }
    const to = nextItemIndex(event.key, at, end);
    const next = to === undefined ? undefined : lines[to];
    if (!next || to === undefined) return;
    consumeKey(event);
    onSelect(next.commit);
    focusItem(event.currentTarget as Element, to);
  };
  return (
    <div class="as-Scroll as-Commits">
      <div role="listbox" aria-label="Commits" onKeyDown={onKeyDown}>
        {lines.slice(0, end).map((line) => (
          <Item
            key={line.commit.id}
            model={model}
            line={line}
            selected={line.commit === selected}
            onSelect={onSelect}
          />
        ))}
      </div>
      {(rest > 0 || !all) && (
        <button type="button" class="as-Fold" onClick={() => void showMore()}>
          {`Show earlier ones${left > 0 ? `: ${formatCount(left, "commit")}` : ""}`}
        </button>
      )}
    </div>
  );
}

interface ItemProps {
  model: Model;
  line: CommitLine;
  selected: boolean;
  onSelect(commit: Commit): void;
}

function Item({ model, line, selected, onSelect }: ItemProps) {
  const { commit, step, row } = line;
  const seq = seqOf(line);
  const title = escapeInvisible(titleOfLine(line));
  const look = lookOf(commit);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the list takes the keys
    <div
      class={cx("as-Commit", step && "as-mod-step")}
      role="option"
      data-item
      aria-selected={selected}
      tabIndex={selected ? 0 : -1}
      title={escapeInvisible(tooltipOf(commit)) || title}
      onClick={() => onSelect(commit)}
    >
      <span class={`as-Actor as-mod-${look.actor}`}>
        <Icon name={look.icon} small={step} />
      </span>
      <span class="as-Ellipsis">
        {step && <span class="as-Hidden">Step: </span>}
        {title}
      </span>
      <Diffstat {...totals(commit.changes)} />
      <span class="as-Commit-sub">
        <span class="as-Code">{shortHash(commit)}</span>
        {seq > 0 && (
          // biome-ignore lint/a11y/useKeyWithClickEvents: Enter does it
          // biome-ignore lint/a11y/noStaticElementInteractions: an option holds no other control
          <span
            class="as-Link as-Small"
            title={`Go to event ${seq} in the timeline (Enter)`}
            onClick={(event) => {
              event.stopPropagation();
              model.reveal(row?.id ?? seq);
            }}
          >
            {`event ${seq}`}
          </span>
        )}
        <span class="as-Spring" />
        <span>{formatClock(commit.at)}</span>
      </span>
    </div>
  );
}

/** Snapshots say little of themselves: the row that they belong to says what was done. */
function titleOfLine({ commit, row }: CommitLine): string {
  const plain = commit.snapshot && !(commit.ruled && commit.sentence);
  return (plain && row?.name && `After ${row.name}`) || titleOf(commit) || "Step";
}

/** What the title leaves out: with a model's sentence in its place, the title itself. */
function tooltipOf(commit: Commit): string {
  const title = titleOf(commit) === commit.title ? "" : commit.title;
  return [title, commit.description].filter(Boolean).join("\n");
}

function lookOf({ snapshot, changes }: Commit): { icon: IconName; actor: string } {
  if (snapshot) return { icon: "tools", actor: "tools" };
  return changes.length === 0
    ? { icon: "commit", actor: "system" }
    : { icon: "agent", actor: "agent" };
}

export function shortHash(commit: Commit): string {
  return commit.id.slice(0, 7);
}
