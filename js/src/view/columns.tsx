/** What a list can be sorted by: the heads of its columns, or a menu where there are none. */
import { Icon } from "../icons/icon";

export interface Column<By> {
  /** What it sorts by; null where it doesn't. */
  by: By | null;
  label: string;
  figure?: boolean;
}

export interface Sorting<By> {
  columns: readonly Column<By>[];
  order: { by: By; down: boolean };
  /** Sort by a column; by the one that it is sorted by: the other way around. */
  sort(by: By): void;
}

export function ColumnHeads<By extends string>({ columns, order, sort }: Sorting<By>) {
  return columns.map(({ by, label, figure }) => {
    const place = figure ? "as-Column-figure" : "";
    if (by === null)
      return (
        <span key={label} class={place} role="columnheader">
          {label}
        </span>
      );
    const mine = order.by === by;
    const direction = order.down ? "descending" : "ascending";
    return (
      <span key={label} class={place} role="columnheader" aria-sort={mine ? direction : undefined}>
        <button
          type="button"
          class="as-Column-sort"
          title={`Sort by ${label.toLowerCase()}`}
          onClick={() => sort(by)}
        >
          {label}
          {mine && <Icon name="down" small class={order.down ? "" : "as-mod-up"} />}
        </button>
      </span>
    );
  });
}

/** The same as a menu, in the list's narrow form. */
export function OrderMenu<By extends string>({ columns, order, sort }: Sorting<By>) {
  return (
    <>
      <select
        class="as-Input as-Select"
        aria-label="Sort by"
        value={order.by}
        onChange={({ currentTarget }) => sort(currentTarget.value as By)}
      >
        {columns.map(
          ({ by, label }) =>
            by && (
              <option key={by} value={by}>
                {label}
              </option>
            ),
        )}
      </select>
      <button
        type="button"
        class="as-Button as-mod-icon"
        title={order.down ? "The largest or newest first" : "The smallest or oldest first"}
        aria-label="Turn the order around"
        onClick={() => sort(order.by)}
      >
        <Icon name="down" class={order.down ? "" : "as-mod-up"} />
      </button>
    </>
  );
}
