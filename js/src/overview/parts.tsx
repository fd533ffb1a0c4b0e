/** What the sections of the overview are made of. */
import type { ComponentChildren } from "preact";
import type { Model } from "../model/model";

interface SectionProps {
  title: string;
  /** How many there are; said beside the title. */
  count?: number;
  /** What stands there where there is none. */
  none?: string;
  children?: ComponentChildren;
}

export function Section({ title, count, none, children }: SectionProps) {
  return (
    <section class="as-OverviewSection" aria-label={title}>
      <h3>
        {title}
        {count !== undefined && count > 0 && (
          <span class="as-Count">{count.toLocaleString("en-US")}</span>
        )}
      </h3>
      {count === 0 ? <p class="as-Muted as-Small">{none}</p> : children}
    </section>
  );
}

interface RowLinkProps {
  model: Model;
  row: number;
  label?: string;
}

/** Leads to a row of the timeline. */
export function RowLink({ model, row, label }: RowLinkProps) {
  return (
    <button
      type="button"
      class="as-Link as-RowLink"
      title={`Go to row ${row} in the timeline`}
      aria-label={label ?? `Row ${row}`}
      onClick={() => model.reveal(row)}
    >
      {row}
    </button>
  );
}

/** The first and the last row of something. */
export function FirstLast({ model, first, last }: { model: Model; first: number; last: number }) {
  return (
    <span class="as-FirstLast">
      <RowLink model={model} row={first} label={`First row: ${first}`} />
      {last !== first && (
        <>
          {" … "}
          <RowLink model={model} row={last} label={`Last row: ${last}`} />
        </>
      )}
    </span>
  );
}
