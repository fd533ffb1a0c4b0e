/** What the list can be sorted by: the heads of its columns, or a menu where there are none. */
import { Icon } from "../icons/icon";
import { useRoving } from "../view/roving";
import type { SessionsModel } from "./model";
import type { Column } from "./sorting";

const COLUMNS: { by: Column | null; label: string; long?: string; figure?: boolean }[] = [
  { by: "state", label: "State" },
  { by: "agent", label: "Agent" },
  { by: "moniker", label: "Moniker" },
  { by: "iteration", label: "Steps", figure: true },
  { by: null, label: "Last words" },
  { by: "since", label: "Since", figure: true },
];

interface HeadProps {
  model: SessionsModel;
  /** The sessions that are listed. */
  ids: readonly string[];
}

export function Head({ model, ids }: HeadProps) {
  const roving = useRoving<HTMLDivElement>();
  return (
    <div class="as-SessHead" role="row" aria-rowindex={1} {...roving}>
      <span class="as-SessRow-pick" role="columnheader">
        <ChooseAll model={model} ids={ids} />
      </span>
      {COLUMNS.map((column) => (
        <ColumnHead key={column.label} model={model} {...column} />
      ))}
    </div>
  );
}

/** Choose all that are listed, or none. */
export function ChooseAll({ model, ids }: HeadProps) {
  const chosen = model.chosen.value;
  const all = ids.length > 0 && ids.every((id) => chosen.has(id));
  return (
    <input
      type="checkbox"
      class="as-SessAll"
      checked={all}
      indeterminate={!all && chosen.size > 0}
      aria-label="Choose all that are listed"
      title="Choose all that are listed (Ctrl+A)"
      onChange={() => model.chooseAll(all ? [] : ids)}
    />
  );
}

interface ColumnHeadProps {
  model: SessionsModel;
  by: Column | null;
  label: string;
  figure?: boolean;
}

function ColumnHead({ model, by, label, figure }: ColumnHeadProps) {
  const place = figure ? "as-SessRow-figure" : "";
  if (by === null) {
    return (
      <span class={place} role="columnheader">
        {label}
      </span>
    );
  }
  const order = model.order.value;
  const mine = order.by === by;
  const direction = order.down ? "descending" : "ascending";
  return (
    <span class={place} role="columnheader" aria-sort={mine ? direction : undefined}>
      <button
        type="button"
        class="as-SessHead-sort"
        title={`Sort by ${label.toLowerCase()}`}
        onClick={() => model.sort(by)}
      >
        {label}
        {mine && <Icon name="down" small class={order.down ? "" : "as-mod-up"} />}
      </button>
    </span>
  );
}

/** The same as a menu, in the list's narrow form. */
export function OrderMenu({ model }: { model: SessionsModel }) {
  const order = model.order.value;
  return (
    <>
      <select
        class="as-Input as-Select"
        aria-label="Sort by"
        value={order.by}
        onChange={({ currentTarget }) => model.sort(currentTarget.value as Column)}
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
        onClick={() => model.sort(order.by)}
      >
        <Icon name="down" class={order.down ? "" : "as-mod-up"} />
      </button>
    </>
  );
}
