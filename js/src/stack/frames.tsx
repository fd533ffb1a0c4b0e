/** The frames of what waits: the agent's own, and each run of library frames folded to one line. */
import { useState } from "preact/hooks";
import { Icon } from "../icons/icon";
import type { StackFrame } from "../protocol/types.gen";
import { escapeInvisible, formatCount } from "../view/format";
import { longLocation, shortLocation } from "../view/location";

/** A frame, or library frames that stand together, by their indexes. */
export type FrameLine =
  | { kind: "frame"; index: number; frame: StackFrame }
  | { kind: "fold"; first: number; count: number };

/**
 * What stands in the list, innermost first.
 *
 * @param unfolded The first index of each fold that is open.
 */
export function frameLines(
  frames: readonly StackFrame[],
  unfolded: ReadonlySet<number>,
): FrameLine[] {
  const lines: FrameLine[] = [];
  for (let index = 0; index < frames.length; ) {
    const frame = frames[index] as StackFrame;
    let end = index + 1;
    if (!frame.is_own) while (end < frames.length && !frames[end]?.is_own) end += 1;
    if (!frame.is_own) lines.push({ kind: "fold", first: index, count: end - index });
    if (frame.is_own || unfolded.has(index))
      for (let at = index; at < end; at += 1)
        lines.push({ kind: "frame", index: at, frame: frames[at] as StackFrame });
    index = end;
  }
  return lines;
}

/** The frame that is shown first: the agent's own that is innermost. */
export function firstFrame(frames: readonly StackFrame[]): number {
  return Math.max(
    0,
    frames.findIndex(({ is_own }) => is_own),
  );
}

interface FramesProps {
  frames: readonly StackFrame[];
  selected: number;
  onSelect(index: number): void;
}

export function Frames({ frames, selected, onSelect }: FramesProps) {
  const [unfolded, setUnfolded] = useState<ReadonlySet<number>>(new Set());
  const lines = frameLines(frames, unfolded);
  const fold = (first: number) => {
    const next = new Set(unfolded);
    if (!next.delete(first)) next.add(first);
    setUnfolded(next);
  };
  return (
    <ul class="as-Frames" aria-label="Frames, innermost first">
      {lines.map((line) =>
        line.kind === "fold" ? (
          <li key={`fold ${line.first}`}>
            <button
              type="button"
              class="as-Frame as-Muted"
              aria-expanded={unfolded.has(line.first)}
              onClick={() => fold(line.first)}
            >
              <Icon name={unfolded.has(line.first) ? "down" : "right"} small />
              {formatCount(line.count, "library frame")}
            </button>
          </li>
        ) : (
          <li key={line.index}>
            <button
              type="button"
              class="as-Frame"
              aria-current={line.index === selected ? "true" : undefined}
              title={longLocation(line.frame.location)}
              onClick={() => onSelect(line.index)}
            >
              <span class={line.frame.is_own ? "as-Frame-name" : "as-Frame-name as-Muted"}>
                {escapeInvisible(line.frame.location.function || "?")}
              </span>
              <span class="as-Muted as-Frame-where">{shortLocation(line.frame.location)}</span>
            </button>
          </li>
        ),
      )}
    </ul>
  );
}
