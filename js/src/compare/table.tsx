/** The rows of both runs, pair by pair: a grid of which only the part in sight is in the document. */

import { useLayoutEffect, useRef } from "preact/hooks";
import { Icon } from "../icons/icon";
import type { TimelineRow } from "../model/model";
import { lineIndexForKey, pageOf } from "../view/focus";
import { actorIcon, escapeInvisible } from "../view/format";
import { cx } from "../view/hooks";
import { IndentGuides, Summary } from "../view/timeline/row";
import { ROW_HEIGHT_PX, useVirtual } from "../view/timeline/scroll";
import { idOf, type Pair, type PairDifference } from "./align";

interface PairTableProps {
  pairs: readonly Pair[];
  /** One for each pair. */
  differences: readonly PairDifference[];
  /** Whether only those that differ are shown. */
  only: boolean;
  /** A pair's id. */
  selected: string;
  onSelect(id: string): void;
}

export function PairTable({ pairs, differences, only, selected, onSelect }: PairTableProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const lines = linesOf(pairs, differences, only, selected);
  const at = lines.findIndex(({ id }) => id === selected);
  const active = Math.max(at, 0);
  const indexes = useVirtual({ scroller, count: lines.length, active });
  useShown(scroller, at);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const page = pageOf(scroller.current, ROW_HEIGHT_PX, 1);
    const to = lineIndexForKey(event.key, active, page);
    const line = to === undefined ? undefined : lines[Math.max(0, Math.min(lines.length - 1, to))];
    if (!line) return;
    onSelect(line.id);
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div ref={scroller} class="as-Scroll">
      <div
        class="as-Rows"
        role="grid"
        aria-label="Events of both runs"
        aria-rowcount={lines.length}
        style={{ height: `${lines.length * ROW_HEIGHT_PX}px` }}
        onKeyDown={onKeyDown}
      >
        {indexes.map((index) => {
          const line = lines[index];
          return (
            line && (
              <PairRow
                key={line.id}
                line={line}
                index={index}
                selected={line.id === selected}
                active={index === active}
                onSelect={() => onSelect(line.id)}
              />
            )
          );
        })}
      </div>
    </div>
  );
}

interface Line {
  readonly id: string;
  readonly pair: Pair;
  readonly difference: PairDifference;
}

/** What is read stays, also where it turns out to be no difference. */
function linesOf(
  pairs: readonly Pair[],
  differences: readonly PairDifference[],
  only: boolean,
  selected: string,
): Line[] {
  const lines = pairs.map((pair, at) => ({
    id: idOf(pair),
    pair,
    difference: differences[at] ?? "same",
  }));
  return only ? lines.filter((line) => line.difference !== "same" || line.id === selected) : lines;
}

/** The selected line stays in sight, and has the focus where a line had it. */
function useShown(scroller: { current: HTMLElement | null }, at: number): void {
  const first = useRef(true);
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element || at < 0) return;
    const [top, height] = [at * ROW_HEIGHT_PX, element.clientHeight];
    const over = top < element.scrollTop || top + ROW_HEIGHT_PX > element.scrollTop + height;
    // At a third, so that what led to it is seen too.
    if (over)
      element.scrollTop = Math.max(
        0,
        Math.floor((top - height / 3) / ROW_HEIGHT_PX) * ROW_HEIGHT_PX,
      );
    const had = element.contains(document.activeElement);
    const line = element.querySelector<HTMLElement>('.as-Pair[tabindex="0"]');
    if (had || first.current) line?.focus({ preventScroll: true });
    first.current = false;
  }, [at]);
}

interface PairRowProps {
  line: Line;
  index: number;
  selected: boolean;
  active: boolean;
  onSelect(): void;
}

const MARKS: Record<PairDifference, { sign: string; words: string }> = {
  same: { sign: "=", words: "the same" },
  changed: { sign: "≠", words: "differs" },
  left: { sign: "−", words: "only on the left" },
  right: { sign: "+", words: "only on the right" },
};

function PairRow({ line, index, selected, active, onSelect }: PairRowProps) {
  const { pair, difference } = line;
  const { sign, words } = MARKS[difference];
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the grid takes the keys of all its rows
    <div
      class={cx("as-Pair", `as-mod-${difference}`)}
      role="row"
      aria-rowindex={index + 1}
      aria-selected={selected}
      tabIndex={active ? 0 : -1}
      style={{ transform: `translateY(${index * ROW_HEIGHT_PX}px)` }}
      onClick={onSelect}
    >
      <Half row={pair.left} />
      <span class="as-Pair-mark" role="gridcell" title={words}>
        <span aria-hidden="true">{sign}</span>
        <span class="as-Hidden">{words}</span>
      </span>
      <Half row={pair.right} />
    </div>
  );
}

/** One side: the row's number, and what happened; empty where the run has no such row. */
function Half({ row }: { row: TimelineRow | null }) {
  if (!row) return <span class="as-Half as-mod-none" role="gridcell" />;
  const actor = row.side === "end" ? row.source : row.target;
  const summary = escapeInvisible(row.summary);
  return (
    <span class="as-Half" role="gridcell" title={summary}>
      <span class="as-Row-n">{row.seq}</span>
      <IndentGuides depth={row.depth} />
      <span class={`as-Actor as-mod-${actor}`}>
        <Icon name={actorIcon(actor)} small />
      </span>
      <span class="as-Ellipsis">
        <Summary row={row} summary={summary} />
      </span>
      {row.edited && (
        <span class="as-You" role="img" aria-label="edited" title="Edited by a person">
          <Icon name="pencil" small />
        </span>
      )}
      {row.outcome === "error" && (
        <span class="as-Bad" role="img" aria-label="failed" title="Failed">
          <Icon name="cross" small />
        </span>
      )}
    </span>
  );
}
