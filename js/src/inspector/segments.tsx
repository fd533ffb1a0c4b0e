/** Views of one thing: a tab list with one tab stop, moved in with the arrow keys. */

export interface Segment<K extends string> {
  readonly key: K;
  readonly label: string;
  readonly title?: string;
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
    const at = segments.findIndex((one) => one.key === selected);
    const to = target(event.key, at, segments.length);
    const next = to === undefined ? undefined : segments[to];
    if (!next) return;
    event.preventDefault();
    event.stopPropagation();
    onSelect(next.key);
    const list = event.currentTarget as HTMLElement;
    (list.children[to ?? 0] as HTMLElement | undefined)?.focus();
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
          title={one.title}
          onClick={() => onSelect(one.key)}
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
