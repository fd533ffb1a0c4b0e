/** A run as a line, with a mark where a stop would have hit. */

const HEIGHT = 14;
/** About so many small marks divide the line. */
const PARTS = 12;
/** So many numbers are said. */
const MOST_SAID = 20;

interface TicksProps {
  /** The seqs of the rows, rising. */
  hits: readonly number[];
  /** How many rows there are. */
  rows: number;
}

export function Ticks({ hits, rows }: TicksProps) {
  const length = Math.max(rows, hits.at(-1) ?? 0, 1);
  const step = Math.max(1, Math.round(length / PARTS));
  const parts = Array.from({ length: Math.floor(length / step) }, (_, at) => (at + 1) * step);
  return (
    <svg
      class="as-Ticks"
      viewBox={`0 0 ${length} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={said(hits, rows)}
    >
      <path class="as-Ticks-parts" d={marks(parts, HEIGHT - 4)} />
      <path class="as-Ticks-hits" d={marks(hits, 0)} />
    </svg>
  );
}

/** Marks in the middle of their rows. */
const marks = (seqs: readonly number[], top: number): string =>
  seqs.map((seq) => `M${seq - 0.5} ${top}V${HEIGHT}`).join("");

function said(hits: readonly number[], rows: number): string {
  if (hits.length === 0) return `No hit in ${rows} events`;
  const more = hits.length > MOST_SAID ? " and more" : "";
  return `Hits at ${hits.slice(0, MOST_SAID).join(", ")}${more} of ${rows} events`;
}
