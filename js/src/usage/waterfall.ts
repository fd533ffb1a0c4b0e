/** Where the bars of a run's events stand in a waterfall. Pure. */
import { type Lanes, MAIN_LANE } from "../model/lanes";
import type { ProfiledEvent, RunProfile } from "../protocol/types.gen";

/** So many bars are drawn: the last ones. */
export const MAX_BARS = 300;

/** A pause of this share of all busy time or more is drawn as one of this share. */
const LONGEST_PAUSE = 0.04;

export interface Bar {
  readonly event: ProfiledEvent;
  /** From 0 to 1, as `width`. */
  readonly left: number;
  readonly width: number;
}

export interface WaterfallLane {
  /** The agent's title; "" is the main lane. */
  readonly title: string;
  /** Events of one line don't overlap: what runs beside or inside of another stands below it. */
  readonly lines: readonly (readonly Bar[])[];
}

export interface Waterfall {
  readonly lanes: readonly WaterfallLane[];
  /** Seconds in which an event ran. */
  readonly busy: number;
  /** Whether pauses are drawn shorter than they were. */
  readonly shortened: boolean;
  /** Events that aren't drawn. */
  readonly omitted: number;
}

interface Span {
  readonly event: ProfiledEvent;
  readonly start: number;
  readonly end: number;
}

/**
 * Lay out a waterfall.
 *
 * @param now POSIX seconds: the end of events under way.
 */
export function layOut({ events }: RunProfile, lanes: Lanes, now: number): Waterfall {
  const drawn = events.slice(-MAX_BARS);
  const spans = drawn.map((event) => ({
    event,
    start: event.started_at,
    end: Math.max(event.started_at, endOf(event, now)),
  }));
  const scale = scaleOf(spans);
  const byLane = new Map<string, Span[]>();
  for (const span of spans) {
    const key = laneKeyOf(span.event);
    byLane.set(key, [...(byLane.get(key) ?? []), span]);
  }
  return {
    lanes: [...byLane].map(([key, own]) => ({
      title: lanes.get(key)?.title ?? "",
      lines: linesOf(own).map((line) => line.map((span) => barOf(span, scale))),
    })),
    busy: scale.busy,
    shortened: scale.shortened,
    omitted: events.length - drawn.length,
  };
}

function endOf({ started_at, duration_s }: ProfiledEvent, now: number): number {
  return duration_s === null ? now : started_at + duration_s;
}

function laneKeyOf({ scope }: ProfiledEvent): string {
  const end = scope.findLastIndex((part) => part.startsWith("agent:")) + 1;
  return end === 0 ? MAIN_LANE : JSON.stringify(scope.slice(0, end));
}

interface Scale {
  readonly busy: number;
  readonly shortened: boolean;
  /** From a time to 0…1. */
  readonly at: (time: number) => number;
}

/** Time as it is drawn: long pauses, in which a person thinks, would leave no room for the rest. */
function scaleOf(spans: readonly Span[]): Scale {
  const periods = busyPeriods(spans);
  const busy = periods.reduce((sum, { start, end }) => sum + end - start, 0);
  const longest = busy * LONGEST_PAUSE;
  let width = 0;
  let shortened = false;
  let before: number | null = null;
  const places = periods.map(({ start, end }) => {
    const pause = before === null ? 0 : start - before;
    shortened ||= pause > longest;
    width += Math.min(pause, longest);
    const place = { start, end, left: width };
    width += end - start;
    before = end;
    return place;
  });
  const at = (time: number) => {
    const place = places.findLast(({ start }) => start <= time) ?? places[0];
    if (!place || width === 0) return 0;
    return (place.left + Math.min(Math.max(time, place.start), place.end) - place.start) / width;
  };
  return { busy, shortened, at };
}

/** The times in which anything ran, in order and apart from each other. */
function busyPeriods(spans: readonly Span[]): { start: number; end: number }[] {
  const periods: { start: number; end: number }[] = [];
  for (const { start, end } of spans.toSorted((a, b) => a.start - b.start)) {
    const last = periods.at(-1);
    if (last && start <= last.end) last.end = Math.max(last.end, end);
    else periods.push({ start, end });
  }
  return periods;
}

/** Each span on the first line that is free from its start on. */
function linesOf(spans: readonly Span[]): Span[][] {
  const lines: Span[][] = [];
  for (const span of spans.toSorted((a, b) => a.start - b.start || b.end - a.end)) {
    const free = lines.find((line) => (line.at(-1)?.end ?? 0) <= span.start);
    if (free) free.push(span);
    else lines.push([span]);
  }
  return lines;
}

function barOf({ event, start, end }: Span, { at }: Scale): Bar {
  const left = at(start);
  return { event, left, width: at(end) - left };
}
