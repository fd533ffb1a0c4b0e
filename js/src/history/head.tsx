/** What the list can be sorted by: the heads of its columns, or a menu where there are none. */
import { Icon } from "../icons/icon";
import type { Column, History } from "../model/history";
import { useRoving } from "../view/roving";

const COLUMNS: { by: Column | null; label: string; figure?: boolean }[] = [
  { by: "name", label: "Run" },
  { by: "state", label: "State" },
  { by: null, label: "Tags" },
  { by: "started", label: "Started" },
  { by: "events", label: "Events", figure: true },
  { by: "tokens", label: "Tokens", figure: true },
  { by: "duration", label: "Duration", figure: true },
];

export function Head({ history }: { history: History }) {
  const roving = useRoving<HTMLDivElement>();
  return (
    <div class="as-RunsHead" role="row" aria-rowindex={1} {...roving}>
      <span role="columnheader">
        <span class="as-Hidden">Chosen to be compared</span>
      </span>
      {COLUMNS.map(({ by, label, figure }) => (
        <ColumnHead key={label} history={history} by={by} label={label} figure={figure ?? false} />
      ))}
      <span role="columnheader">
        <span class="as-Hidden">What can be done</span>
      </span>
    </div>
  );
}

interface ColumnHeadProps {
  history: History;
  by: Column | null;
  label: string;
  figure: boolean;
}

function ColumnHead({ history, by, label, figure }: ColumnHeadProps) {
  const place = figure ? "as-RunsHead-figure" : "";
  if (by === null) {
    return (
      <span class={place} role="columnheader">
        {label}
      </span>
    );
  }
  const order = history.order.value;
  const mine = order.by === by;
  const direction = order.down ? "descending" : "ascending";
  return (
    <span class={place} role="columnheader" aria-sort={mine ? direction : undefined}>
      <button
        type="button"
        class="as-RunsHead-sort"
        title={`Sort by ${label.toLowerCase()}`}
        onClick={() => history.sort(by)}
      >
        {label}
        {mine && <Icon name="down" small class={order.down ? "" : "as-mod-up"} />}
      </button>
    </span>
  );
}

/** The same as a menu, in the list's narrow form. */
export function OrderMenu({ history }: { history: History }) {
  const order = history.order.value;
  return (
    <span class="as-RunsOrder">
      <select
        class="as-Input as-Select"
        aria-label="Sort by"
        value={order.by}
        onChange={({ currentTarget }) => history.sort(currentTarget.value as Column)}
      >
        {COLUMNS.map(
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
        onClick={() => history.sort(order.by)}
      >
        <Icon name="down" class={order.down ? "" : "as-mod-up"} />
      </button>
    </span>
  );
}
