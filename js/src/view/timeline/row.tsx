/** One row: number, from → to, what happened, marks, a figure. Always one line of the same height. */
import { Icon } from "../../icons/icon";
import type { Row } from "../../model/model";
import type { Actor } from "../../protocol/types.gen";
import { cx } from "../classes";
import { visible } from "../visible";
import { actorIcon, actorLabel, clock, count, duration } from "../words";

/** Deeper than this the guides would crowd out the words. */
const MOST_GUIDES = 5;

/** Where a line stands in the timeline. */
export interface PlaceProps {
  /** From 1. */
  index: number;
  top: number;
  selected: boolean;
  /** Whether Tab leads to it. */
  active: boolean;
}

/** What all lines have in common. */
export function placed({ index, top, selected, active }: PlaceProps, id: string, level: number) {
  return {
    "data-row": id,
    "aria-level": level,
    "aria-rowindex": index,
    "aria-selected": selected,
    tabIndex: active ? 0 : -1,
    style: { transform: `translateY(${top}px)` },
  } as const;
}

interface RowLineProps extends PlaceProps {
  row: Row;
  /** How many files stand under it. */
  files: number;
  /** Whether they are shown. */
  open: boolean;
  /** What a person wrote beside it; "" is nothing. */
  note: string;
  onSelect(): void;
  onFold(open: boolean): void;
}

export function RowLine(props: RowLineProps) {
  const { row, files, open, note, onSelect, onFold, ...place } = props;
  const summary = visible(row.summary);
  const marked =
    row.edited || row.answer === "stop" || row.outcome === "error" || note !== "" || files > 0;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the timeline takes the keys of all its rows
    <div
      {...placed(place, row.id, row.depth + 1)}
      role="row"
      class={cx(
        "as-Row",
        row.pending && "as-mod-halted",
        row.duration === null && !marked && "as-mod-plain",
      )}
      aria-expanded={files > 0 ? open : undefined}
      aria-current={row.pending ? "step" : undefined}
      onClick={onSelect}
    >
      <span class="as-Row-n" role="gridcell">
        {row.seq}
      </span>
      <Actors row={row} />
      <span class="as-Row-what as-Ellipsis" role="gridcell" title={summary}>
        <Summary name={row.name} summary={summary} />
      </span>
      <span class="as-Row-marks" role="gridcell">
        <Marks row={row} />
        {note && (
          <span class="as-Muted" role="img" aria-label={`note: ${noted(note)}`} title={noted(note)}>
            <Icon name="note" small />
          </span>
        )}
        {files > 0 && <Twist files={files} open={open} onFold={onFold} />}
      </span>
      <Figure row={row} />
    </div>
  );
}

/** Folds the files under a row with the mouse; the keys are the timeline's, and the row says its state. */
function Twist({ files, open, onFold }: Pick<RowLineProps, "files" | "open" | "onFold">) {
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Left and Right do it
    // biome-ignore lint/a11y/noStaticElementInteractions: the row itself is what has a state
    <span
      class="as-Twist"
      title={`${open ? "Fold" : "Show"} ${count(files, "changed file")}`}
      onClick={(event) => {
        event.stopPropagation();
        onFold(!open);
      }}
    >
      <Icon name={open ? "down" : "right"} small />
      {!open && <span>{count(files, "file")}</span>}
    </span>
  );
}

function Actors({ row }: { row: Row }) {
  return (
    <span class="as-Actors" role="gridcell">
      <Guides depth={row.depth} />
      <ActorName actor={row.source} />
      <span class="as-Muted" role="img" aria-label="to">
        →
      </span>
      <ActorName actor={row.target} />
    </span>
  );
}

/** A line for each level that something stands in. */
export function Guides({ depth }: { depth: number }) {
  const levels = Math.min(depth, MOST_GUIDES);
  return (
    <>
      {Array.from({ length: levels }, (_, level) => (
        <i key={level} class="as-Guide" />
      ))}
    </>
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
function Summary({ name, summary }: { name: string | null; summary: string }) {
  const tool = name && visible(name);
  if (!tool || !summary.startsWith(`${tool}(`) || !summary.endsWith(")")) return <>{summary}</>;
  return (
    <>
      <code>{tool}</code> <bdi class="as-Muted">{summary.slice(tool.length + 1, -1)}</bdi>
    </>
  );
}

/** What each mark says, to who can't see it. */
function Marks({ row }: { row: Row }) {
  return (
    <>
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
    </>
  );
}

/** A note as a tooltip: the beginning of a long one. */
function noted(note: string): string {
  return visible(note.length > MOST_NOTE ? `${note.slice(0, MOST_NOTE)}…` : note);
}

const MOST_NOTE = 300;

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
