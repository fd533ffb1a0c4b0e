/** The sizes that a person chooses: of two panes, and of the whole view. */
import { type ComponentChildren, createContext, type TargetedPointerEvent } from "preact";
import { useContext, useEffect, useRef, useState } from "preact/hooks";
import { browserStorage } from "../model/storage";
import { cx, type ViewPlacement } from "./hooks";

/** Below this width (that of layout.css) the second pane opens under the first. */
const NARROW_WIDTH_PX = 560;
const MIN_SHARE_PERCENT = 20;
const MAX_SHARE_PERCENT = 75;
const KEY_STEP = 16;

/** Which shell the view sits in: sizes are kept for each. */
export const ShellName = createContext("inline");

interface SplitProps {
  /** What the sizes are kept under. */
  name: string;
  /** What the splitter's label says. */
  label: string;
  class?: string;
  /** Up to this width the second pane opens under the first; as the stylesheet has it for this class. */
  narrow?: number;
  children: [ComponentChildren, ComponentChildren];
}

export function Split({ name, label, class: extra, narrow: upTo, children }: SplitProps) {
  const body = useRef<HTMLDivElement>(null);
  const narrow = useNarrow(body, upTo);
  const key = `split:${useContext(ShellName)}:${name}:${narrow ? "rows" : "columns"}`;
  const [share, setShare] = useStored(key);

  const style: Record<string, string> = {};
  if (share !== null && narrow) style["--as-vsplit"] = `${share}cqh`;
  else if (share !== null) style["--as-split"] = `${share}%`;
  return (
    <div ref={body} class={cx("as-Body", extra)} style={style}>
      {children[0]}
      <Splitter body={body} narrow={narrow} share={share} label={label} onShare={setShare} />
      {children[1]}
    </div>
  );
}

interface SplitterProps {
  body: { current: HTMLDivElement | null };
  narrow: boolean;
  share: number | null;
  label: string;
  onShare(share: number | null): void;
}

function Splitter({ body, narrow, share, label, onShare }: SplitterProps) {
  const moveTo = (x: number, y: number) => {
    const box = body.current?.getBoundingClientRect();
    if (!box) return;
    const part = narrow ? (y - box.top) / wholeHeight(body.current) : (x - box.left) / box.width;
    onShare(Math.min(MAX_SHARE_PERCENT, Math.max(MIN_SHARE_PERCENT, 100 * part)));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const by = ARROWS[event.key]?.[narrow ? 1 : 0];
    if (!by) return;
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    moveTo(box.left + by, box.top + by);
    event.preventDefault();
  };
  return (
    <div
      class="as-Splitter"
      role="separator"
      tabIndex={0}
      aria-label={label}
      aria-orientation={narrow ? "horizontal" : "vertical"}
      aria-valuemin={MIN_SHARE_PERCENT}
      aria-valuemax={MAX_SHARE_PERCENT}
      aria-valuenow={Math.round(share ?? 50)}
      title="Drag, or arrow keys; double-click resets"
      onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
      onPointerMove={(event) => {
        if (event.currentTarget.hasPointerCapture(event.pointerId))
          moveTo(event.clientX, event.clientY);
      }}
      onDblClick={() => onShare(null)}
      onKeyDown={onKeyDown}
    />
  );
}

/** What rows are a share of: the whole view's height, which no banner changes (`cqh` in layout.css). */
function wholeHeight(body: Element | null): number {
  return body?.closest(".as-Main")?.clientHeight || 1;
}

// Along x when side by side, along y when one above the other.
const ARROWS: Record<string, [number, number]> = {
  ArrowLeft: [-KEY_STEP, 0],
  ArrowRight: [KEY_STEP, 0],
  ArrowUp: [0, -KEY_STEP],
  ArrowDown: [0, KEY_STEP],
};

/** Whether an element is too narrow for two things side by side. */
export function useNarrow(
  element: { current: HTMLElement | null },
  upTo = NARROW_WIDTH_PX,
): boolean {
  const [narrow, setNarrow] = useState(false);
  useEffect(() => {
    if (!element.current) return;
    const observer = new ResizeObserver(([entry]) => {
      if (entry) setNarrow(entry.contentRect.width <= upTo);
    });
    observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  return narrow;
}

const storage = browserStorage();

/** A share in percent, kept under a key; null is what the stylesheet says. */
function useStored(key: string): [number | null, (share: number | null) => void] {
  const [stored, setStored] = useState<{ key: string; share: number | null }>({
    key: "",
    share: null,
  });
  const share = stored.key === key ? stored.share : readShare(key);
  const keep = (next: number | null) => {
    setStored({ key, share: next });
    if (next === null) storage.remove(key);
    else storage.set(key, next.toFixed(2));
  };
  return [share, keep];
}

function readShare(key: string): number | null {
  const share = Number.parseFloat(storage.get(key) ?? "");
  return share >= MIN_SHARE_PERCENT && share <= MAX_SHARE_PERCENT ? share : null;
}

// ---- The lower edge: dragged, or moved by the arrow keys; its height is kept for each shell.

const MIN_HEIGHT_PX = 240;
const MAX_HEIGHT_PX = 1200;
const DEFAULT_HEIGHT_PX = 520;

/** The view's height in pixels, and how to change it; null goes back to the usual one. */
export function useHeight({
  shell,
  height,
}: ViewPlacement): [number, (height: number | null) => void] {
  const key = `height:${shell}`;
  const [stored, setStored] = useState(() => Number.parseInt(storage.get(key) ?? "", 10));
  const usual = clamp(height ?? DEFAULT_HEIGHT_PX);
  const change = (next: number | null) => {
    setStored(next === null ? Number.NaN : clamp(next));
    if (next === null) storage.remove(key);
    else storage.set(key, String(clamp(next)));
  };
  return [Number.isNaN(stored) ? usual : clamp(stored), change];
}

function clamp(height: number): number {
  return Math.round(Math.min(MAX_HEIGHT_PX, Math.max(MIN_HEIGHT_PX, height)));
}

interface HeightHandleProps {
  height: number;
  onHeight(height: number | null): void;
}

export function HeightHandle({ height, onHeight }: HeightHandleProps) {
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
      aria-valuemin={MIN_HEIGHT_PX}
      aria-valuemax={MAX_HEIGHT_PX}
      aria-valuenow={height}
      title="Drag, or arrow keys; double-click resets"
      onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
      onPointerMove={onPointerMove}
      onDblClick={() => onHeight(null)}
      onKeyDown={onKeyDown}
    />
  );
}
