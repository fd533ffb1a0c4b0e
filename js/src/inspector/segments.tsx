/** Views of one thing: a tab list with one tab stop, moved in with the arrow keys. */

export interface Segment<K extends string> {
  readonly key: K;
  readonly label: string;
  readonly title?: string;
  /** Why it can't be looked at now: it keeps its place. */
  readonly held?: string | null;
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
    const open = segments.filter(({ held }) => !held);
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
          aria-disabled={one.held ? true : undefined}
          title={one.held ?? one.title}
          onClick={() => {
            if (!one.held) onSelect(one.key);
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
