/** The lower edge: dragged, or moved by the arrow keys; its height is kept for each shell. */
import type { TargetedPointerEvent } from "preact";
import { useState } from "preact/hooks";
import { browserMemory } from "../model/storage";
import type { Place } from "./place";

const LEAST = 240;
const MOST = 1200;
const USUAL = 520;
const KEY_STEP = 16;

const memory = browserMemory();

/** The view's height in pixels, and how to change it; null goes back to the usual one. */
export function useHeight({ shell, height }: Place): [number, (height: number | null) => void] {
  const key = `height:${shell}`;
  const [kept, setKept] = useState(() => Number.parseInt(memory.get(key) ?? "", 10));
  const usual = clamp(height ?? USUAL);
  const change = (next: number | null) => {
    setKept(next === null ? Number.NaN : clamp(next));
    if (next === null) memory.remove(key);
    else memory.set(key, String(clamp(next)));
  };
  return [Number.isNaN(kept) ? usual : clamp(kept), change];
}

function clamp(height: number): number {
  return Math.round(Math.min(MOST, Math.max(LEAST, height)));
}

interface EdgeProps {
  height: number;
  onHeight(height: number | null): void;
}

export function Edge({ height, onHeight }: EdgeProps) {
  const onPointerMove = (event: TargetedPointerEvent<HTMLElement>) => {
    const edge = event.currentTarget;
    if (!edge.hasPointerCapture(event.pointerId)) return;
    const top = edge.parentElement?.getBoundingClientRect().top ?? 0;
    onHeight(event.clientY - top);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const by = event.key === "ArrowUp" ? -KEY_STEP : event.key === "ArrowDown" ? KEY_STEP : 0;
    if (by === 0) return;
    onHeight(height + by);
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div
      class="as-Edge"
      role="separator"
      tabIndex={0}
      aria-orientation="horizontal"
      aria-label="Resize the view"
      aria-valuemin={LEAST}
      aria-valuemax={MOST}
      aria-valuenow={height}
      title="Drag, or arrow keys; double-click resets"
      onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
      onPointerMove={onPointerMove}
      onDblClick={() => onHeight(null)}
      onKeyDown={onKeyDown}
    />
  );
}
