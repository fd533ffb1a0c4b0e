/** Buttons: with a hint, for copying, and one of several. */

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Icon, type IconName } from "../icons/icon";
import { cx } from "./hooks";

interface ButtonProps {
  icon?: IconName;
  /** What it does; with `children` only its tooltip, without them also its name. */
  hint: string;
  /** Why it is impossible now. */
  disabledReason?: string | null;
  /** Whether a press acts all the same: it leads to what holds it back. */
  focusesCause?: boolean;
  primary?: boolean;
  outline?: boolean;
  pressed?: boolean;
  class?: string | undefined;
  /** The name for assistive technology where the label shown is another. */
  name?: string;
  /** Its key, shown beside the label; with it goes a `name`. */
  chord?: string;
  onClick(event: MouseEvent): void;
  children?: ComponentChildren;
}

export function Button(props: ButtonProps) {
  const { icon, hint, disabledReason, children } = props;
  const kinds = [
    props.primary && "as-mod-primary",
    props.outline && "as-mod-outline",
    !children && "as-mod-icon",
  ];
  return (
    <button
      type="button"
      class={cx("as-Button", ...kinds, props.class)}
      title={disabledReason ?? hint}
      aria-label={props.name ?? (children ? undefined : hint)}
      aria-disabled={disabledReason ? true : undefined}
      aria-pressed={props.pressed}
      aria-keyshortcuts={props.chord}
      onClick={(event) => {
        if (!disabledReason || props.focusesCause) props.onClick(event);
      }}
    >
      {icon && <Icon name={icon} />}
      {children}
      {props.chord && <span class="as-Kbd" data-chord={props.chord} />}
    </button>
  );
}

// ---- Copying, and the button that does it.

const COPIED_MS = 1500;

/** Put a text on the clipboard; false where the browser refuses. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyOldWay(text); // no clipboard without https or focus
  }
}

function copyOldWay(text: string): boolean {
  const area = document.createElement("textarea");
  area.value = text;
  area.style.cssText = "position:fixed;opacity:0";
  document.body.append(area);
  const focused = document.activeElement;
  area.select();
  try {
    return document.execCommand("copy");
  } finally {
    area.remove();
    if (focused instanceof HTMLElement) focused.focus();
  }
}

/** Make a text and copy it; false also where what makes it could not be fetched. */
async function copyAndReport(text: CopyButtonProps["text"]): Promise<boolean> {
  try {
    return await copyText(await text());
  } catch {
    return false;
  }
}

interface CopyButtonProps {
  /** What it copies: "Copy the prompt". */
  label: string;
  /** Made only when asked for: it may be large. */
  text(): string | Promise<string>;
  /** Show the label beside the icon. */
  showLabel?: boolean;
  /** Why there is nothing to copy yet: it keeps its place. */
  disabledReason?: string | null;
}

export function CopyButton({ label, text, showLabel, disabledReason }: CopyButtonProps) {
  const [outcome, setOutcome] = useState<"copied" | "failed" | null>(null);
  useEffect(() => {
    if (outcome === null) return;
    const timer = setTimeout(() => setOutcome(null), COPIED_MS);
    return () => clearTimeout(timer);
  }, [outcome]);
  const said =
    outcome && (outcome === "copied" ? "Copied" : "The browser does not allow copying here");
  return (
    <button
      type="button"
      class={showLabel ? "as-Button as-mod-outline" : "as-Button as-mod-icon"}
      title={disabledReason ?? said ?? label}
      aria-disabled={disabledReason ? true : undefined}
      aria-label={showLabel ? undefined : label}
      onClick={async () => {
        if (!disabledReason) setOutcome((await copyAndReport(text)) ? "copied" : "failed");
      }}
    >
      <Icon name={outcome === null ? "copy" : outcome === "copied" ? "check" : "cross"} />
      {showLabel && <span>{said ?? label}</span>}
      <span class="as-Hidden" role="status">
        {said}
      </span>
    </button>
  );
}

// ---- Views of one thing: a tab list with one tab stop, moved in with the arrow keys.

export interface Segment<K extends string> {
  readonly key: K;
  readonly label: string;
  readonly title?: string;
  /** Why it can't be looked at now: it keeps its place. */
  readonly disabledReason?: string | null;
}

interface SegmentsProps<K extends string> {
  label: string;
  segments: readonly Segment<K>[];
  selected: K;
  /** The id of what the tabs switch. */
  controls?: string;
  onSelect(key: K): void;
}

export function Segments<K extends string>(props: SegmentsProps<K>) {
  const { label, segments, selected, controls, onSelect } = props;
  const onKeyDown = (event: KeyboardEvent) => {
    const open = segments.filter(({ disabledReason }) => !disabledReason);
    const at = open.findIndex((one) => one.key === selected);
    const next = open[target(event.key, at, open.length) ?? -1];
    if (!next) return;
    event.preventDefault();
    event.stopPropagation();
    onSelect(next.key);
    const list = event.currentTarget as HTMLElement;
    (list.children[segments.indexOf(next)] as HTMLElement | undefined)?.focus();
  };
  return (
    <div class="as-Segments" role="tablist" tabIndex={-1} aria-label={label} onKeyDown={onKeyDown}>
      {segments.map((one) => (
        <button
          key={one.key}
          type="button"
          role="tab"
          aria-selected={one.key === selected}
          aria-controls={controls}
          tabIndex={one.key === selected ? 0 : -1}
          aria-disabled={one.disabledReason ? true : undefined}
          title={one.disabledReason ?? one.title}
          onClick={() => {
            if (!one.disabledReason) onSelect(one.key);
          }}
        >
          {one.label}
        </button>
      ))}
    </div>
  );
}

function target(key: string, at: number, length: number): number | undefined {
  if (key === "ArrowRight") return (at + 1) % length;
  if (key === "ArrowLeft") return (at + length - 1) % length;
  if (key === "Home") return 0;
  if (key === "End") return length - 1;
  return undefined;
}
