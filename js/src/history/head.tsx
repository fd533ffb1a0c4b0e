/** The columns of the runs, and what the list can be sorted by. */
import type { History, Column as RunColumn } from "../model/history";
import { type Column, ColumnHeads, OrderMenu } from "../view/list/columns";
import { useRoving } from "../view/roving";

const COLUMNS: readonly Column<RunColumn>[] = [
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
    <div class="as-ListHead as-RunsHead" role="row" aria-rowindex={1} {...roving}>
      <span role="columnheader">
        <span class="as-Hidden">Chosen to be compared</span>
      </span>
      <ColumnHeads {...sortingOf(history)} />
      <span role="columnheader">
        <span class="as-Hidden">What can be done</span>
      </span>
    </div>
  );
}

/** The same as a menu, in the list's narrow form. */
export function RunsOrder({ history }: { history: History }) {
  return (
    <span class="as-RunsOrder">
      <OrderMenu {...sortingOf(history)} />
    </span>
  );
}

function sortingOf(history: History) {
  return {
    columns: COLUMNS,
    order: history.order.value,
    sort: (by: RunColumn) => history.sort(by),
  };
}
