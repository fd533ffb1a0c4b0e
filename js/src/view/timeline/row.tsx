/** One row: number, from → to, what happened, marks, a figure. Always one line of the same height. */
import { Icon } from "../../icons/icon";
import type { Row } from "../../model/model";
import type { Actor } from "../../protocol/types.gen";
import { cx } from "../classes";
import { visible } from "../visible";
import { actorIcon, actorLabel, clock, duration } from "../words";

/** Deeper than this the guides would crowd out the words. */
const MOST_GUIDES = 5;

interface RowLineProps {
  row: Row;
  /** Its place in the timeline, from 1. */
  index: number;
  top: number;
  selected: boolean;
  /** Whether Tab leads to it. */
  active: boolean;
  onSelect(id: string): void;
}

export function RowLine({ row, index, top, selected, active, onSelect }: RowLineProps) {
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the timeline takes the keys of all its rows
    <div
      class={cx("as-Row", row.pending && "as-mod-halted")}
      role="row"
      data-row={row.id}
      aria-level={row.depth + 1}
      aria-rowindex={index}
      aria-selected={selected}
      aria-current={row.pending ? "step" : undefined}
      tabIndex={active ? 0 : -1}
      style={{ transform: `translateY(${top}px)` }}
      onClick={() => onSelect(row.id)}
    >
      <span class="as-Row-n" role="gridcell">
        {row.seq}
      </span>
      <Actors row={row} />
      <span class="as-Row-what as-Ellipsis" role="gridcell" title={visible(row.summary)}>
        <Summary row={row} />
      </span>
      <Marks row={row} />
      <Figure row={row} />
    </div>
  );
}

function Actors({ row }: { row: Row }) {
  return (
    <span class="as-Actors" role="gridcell">
      {Array.from({ length: Math.min(row.depth, MOST_GUIDES) }, (_, level) => (
        <i key={level} class="as-Guide" />
      ))}
      <ActorName actor={row.source} />
      <span class="as-Muted" role="img" aria-label="to">
        →
      </span>
      <ActorName actor={row.target} />
    </span>
  );
}

function ActorName({ actor }: { actor: Actor }) {
  return (
    <span class={`as-Actor as-mod-${actor}`} title={actorLabel(actor)}>
      <Icon name={actorIcon(actor)} small />
      <span class="as-Label-text">{actorLabel(actor)}</span>
    </span>
  );
}

/** A call is read best with its tool set apart: `read_file(src/cart.py)`. */
function Summary({ row: { summary, name } }: { row: Row }) {
  if (!name || !summary.startsWith(`${name}(`) || !summary.endsWith(")"))
    return <>{visible(summary)}</>;
  return (
    <>
      <code>{visible(name)}</code>{" "}
      <span class="as-Muted">{visible(summary.slice(name.length + 1, -1))}</span>
    </>
  );
}

/** What each mark says, to who can't see it. */
function Marks({ row }: { row: Row }) {
  return (
    <span class="as-Row-marks" role="gridcell">
      {row.edited && (
        <span class="as-You" role="img" aria-label="edited" title="Edited by a person">
          <Icon name="pencil" small />
        </span>
      )}
      {row.answer === "stop" && (
        <span class="as-Muted" role="img" aria-label="stopped" title="Stopped here">
          <Icon name="stop" small />
        </span>
      )}
      {row.outcome === "error" && (
        <span class="as-Bad" role="img" aria-label="failed" title={failure(row)}>
          <Icon name="cross" small />
        </span>
      )}
    </span>
  );
}

function failure({ failure }: Row): string {
  return failure ? `${failure.type}: ${failure.message}` : "Failed";
}

function Figure({ row }: { row: Row }) {
  return (
    <span class="as-Row-fig" role="gridcell" title={clock(row.at)}>
      {row.duration === null ? "" : duration(row.duration)}
    </span>
  );
}
