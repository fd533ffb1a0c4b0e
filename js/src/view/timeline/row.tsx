/** One row: number, from → to, what happened, marks, a figure. Always one line of the same height. */
import type { ComponentChildren } from "preact";
import { Icon } from "../../icons/icon";
import type { Breakpoints } from "../../model/breakpoints";
import type { Lane } from "../../model/lanes";
import type { TimelineRow } from "../../model/model";
import { EffectBadge, hasEffectBadge, Said } from "../../overview/row_marks";
import type { Actor } from "../../protocol/types.gen";
import { formatTokenCount, usageText } from "../figures";
import {
  actorIcon,
  actorLabel,
  escapeInvisible,
  formatClock,
  formatCount,
  formatDuration,
} from "../format";
import { cx } from "../hooks";
import { longLocation, shortLocation } from "../location";
import { RunToHere } from "../step_buttons";
import { AgentLabel, LaneBar } from "./lane";
import { BreakpointMarks, hasBreakpointMark, isAnsweredOtherwise, Marks } from "./row_marks";

/** Deeper than this the guides would crowd out the words. */
const MOST_GUIDES = 5;

/** So the Core begins a call that asks for an approval; here its mark says it. */
const ASKS = /^Asks: /;

/** Where a line stands in the timeline. */
export interface RowPositionProps {
  /** From 1. */
  index: number;
  top: number;
  selected: boolean;
  /** Whether Tab leads to it. */
  active: boolean;
}

/** What all lines have in common. */
export function rowPositionProps(
  { index, top, selected, active }: RowPositionProps,
  id: string,
  level: number,
) {
  return {
    "data-row": id,
    "aria-level": level,
    "aria-rowindex": index,
    "aria-selected": selected,
    tabIndex: active ? 0 : -1,
    style: { transform: `translateY(${top}px)` },
  } as const;
}

interface RowLineProps extends RowPositionProps {
  row: TimelineRow;
  /** Null: the main one. */
  lane: Lane | null;
  /** How many tokens the prompt was, where its answer has told it. */
  asked: number | undefined;
  /** How many files stand under it. */
  files: number;
  /** Whether they are shown. */
  open: boolean;
  /** Whether it is the other side of the selected event: its call, or what came of it. */
  paired: boolean;
  /** What a person wrote beside it; "" is nothing. */
  note: string;
  breakpoints: Breakpoints;
  onSelect(): void;
  /** Begins a breakpoint like this row; absent where this login may set none. */
  onAddBreakpoint: (() => void) | null;
  /** Runs to the next halt point like this row; absent where that is impossible. */
  onRunTo: (() => void) | null;
  onFold(open: boolean): void;
}

/** What a row's summary says where it is pointed at. */
function titleOf({ said, location }: TimelineRow, summary: string): string {
  const lines = [said && escapeInvisible(said), summary, location && longLocation(location)];
  return lines.filter(Boolean).join("\n");
}

export function RowLine(props: RowLineProps) {
  const {
    row,
    lane,
    asked,
    files,
    open,
    paired,
    note,
    breakpoints,
    onSelect,
    onFold,
    onAddBreakpoint,
    onRunTo,
    ...place
  } = props;
  const summary = escapeInvisible(row.summary);
  const marked =
    row.edited ||
    row.approval ||
    row.answer === "deny" ||
    row.answer === "stop" ||
    isAnsweredOtherwise(row) ||
    row.outcome === "error" ||
    hasBreakpointMark(row) ||
    hasEffectBadge(row) ||
    note !== "" ||
    row.location !== undefined ||
    files > 0;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the timeline takes the keys of all its rows
    <div
      {...rowPositionProps(place, row.id, row.depth + 1)}
      role="row"
      class={cx(
        "as-Row",
        row.pending && "as-mod-halted",
        paired && "as-mod-paired",
        row.duration === null && asked === undefined && !marked && "as-mod-plain",
      )}
      aria-expanded={files > 0 ? open : undefined}
      aria-current={row.pending ? "step" : undefined}
      aria-description={paired ? PAIRED[row.side ?? "begin"] : undefined}
      onClick={onSelect}
    >
      <span class="as-Row-n" role="gridcell">
        {row.seq}
        {lane && <LaneBar hue={lane.hue} />}
      </span>
      <Actors row={row} />
      <span class="as-Row-what as-Ellipsis" role="gridcell" title={titleOf(row, summary)}>
        <AgentLabel lane={lane} node={row.label?.node ?? null} />
        <Said row={row} />
        <Summary row={row} summary={row.approval ? summary.replace(ASKS, "") : summary} />
      </span>
      <span class="as-Row-marks" role="gridcell">
        <EffectBadge row={row} />
        {row.location && (
          <span class="as-Muted as-Row-where as-x-wide">{shortLocation(row.location)}</span>
        )}
        <BreakpointMarks row={row} breakpoints={breakpoints} />
        <Marks row={row} breakpoints={breakpoints} />
        {note && (
          <span class="as-Muted" role="img" aria-label={`note: ${noted(note)}`} title={noted(note)}>
            <Icon name="note" small />
          </span>
        )}
        {files > 0 && <Twist files={files} open={open} onFold={onFold} />}
      </span>
      <Figure row={row} asked={asked}>
        {onAddBreakpoint && row.side && (
          <AddBreakpoint row={row} onAddBreakpoint={onAddBreakpoint} />
        )}
        {onRunTo && <RunToHere seq={row.seq} onRunTo={onRunTo} />}
      </Figure>
    </div>
  );
}

/** The place of a row that isn't here yet. */
export function BlankRow({
  seq,
  onSelect,
  ...place
}: RowPositionProps & { seq: number; onSelect(): void }) {
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the timeline takes the keys of all its rows
    <div
      {...rowPositionProps(place, `#${seq}`, 1)}
      role="row"
      class="as-Row as-mod-blank"
      aria-busy
      aria-label={`Event ${seq} is on its way`}
      onClick={onSelect}
    >
      <span class="as-Row-n" role="gridcell">
        {seq}
      </span>
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
      title={`${open ? "Fold" : "Show"} ${formatCount(files, "changed file")}`}
      onClick={(event) => {
        event.stopPropagation();
        onFold(!open);
      }}
    >
      <Icon name={open ? "down" : "right"} small />
      {!open && <span>{formatCount(files, "file")}</span>}
    </span>
  );
}

function Actors({ row }: { row: TimelineRow }) {
  return (
    <span class="as-Actors" role="gridcell">
      <IndentGuides depth={row.depth} />
      <ActorName actor={row.source} />
      <span class="as-Muted" role="img" aria-label="to">
        →
      </span>
      <ActorName actor={row.target} />
    </span>
  );
}

/** A line for each level that something stands in. */
export function IndentGuides({ depth }: { depth: number }) {
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

/** What a row says to who can't see that it is marked. */
const PAIRED = { begin: "Begin of the selected event", end: "End of the selected event" };

interface SummaryProps {
  row: TimelineRow;
  /** The row's summary, or what is shown of it. */
  summary: string;
}

/** A call is read best with its tool set apart, and so is what came of it: `read_file(src/cart.py)`. */
export function Summary({ row: { name, kind, side }, summary }: SummaryProps) {
  const tool = name && escapeInvisible(name);
  if (!tool) return <>{summary}</>;
  if (summary.startsWith(`${tool}(`) && summary.endsWith(")"))
    return <AnswerMark tool={tool} text={summary.slice(tool.length + 1, -1)} />;
  const ends = kind === "tool_invocation" && side === "end";
  if (!ends || summary.startsWith(tool)) return <>{summary}</>;
  return (
    <>
      <code class="as-Muted">{tool}</code> <bdi>{summary}</bdi>
    </>
  );
}

function AnswerMark({ tool, text }: { tool: string; text: string }) {
  return (
    <>
      <code>{tool}</code> <bdi class="as-Muted">{text}</bdi>
    </>
  );
}

/** A note as a tooltip: the beginning of a long one. */
function noted(note: string): string {
  return escapeInvisible(note.length > MOST_NOTE ? `${note.slice(0, MOST_NOTE)}…` : note);
}

const MOST_NOTE = 300;

interface FigureProps extends Pick<RowLineProps, "row" | "asked"> {
  children: ComponentChildren;
}

/** What the row took: a prompt its tokens, all that ends something its time. */
function Figure({ row, asked, children }: FigureProps) {
  const told = row.usage && usageText(row.usage);
  return (
    <span
      class="as-Row-fig"
      role="gridcell"
      title={[formatClock(row.at), told].filter(Boolean).join(" · ")}
    >
      {row.duration !== null && formatDuration(row.duration)}
      {row.duration === null && asked !== undefined && (
        <>
          {formatTokenCount(asked)}
          <span class="as-x-medium"> tok</span>
        </>
      )}
      {children}
    </span>
  );
}

/** Over the figure while the row is pointed at; the key `s` does the same for the selected one. */
function AddBreakpoint({ row, onAddBreakpoint }: { row: TimelineRow; onAddBreakpoint(): void }) {
  return (
    <button
      type="button"
      class="as-Row-act"
      title="Add a breakpoint like this (s)"
      aria-label={`Add a breakpoint like event ${row.seq}`}
      tabIndex={-1}
      onClick={(event) => {
        event.stopPropagation();
        onAddBreakpoint();
      }}
    >
      <Icon name="halted" small />
    </button>
  );
}
