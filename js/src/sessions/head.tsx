/** The columns of the sessions, and what the list can be sorted by. */
import { type Column, ColumnHeads, OrderMenu } from "../view/list/columns";
import { useRoving } from "../view/roving";
import type { SessionsModel } from "./model";
import type { Column as SessionColumn } from "./sorting";

const COLUMNS: readonly Column<SessionColumn>[] = [
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
    <div class="as-ListHead as-SessHead" role="row" aria-rowindex={1} {...roving}>
      <span class="as-SessRow-pick" role="columnheader">
        <ChooseAll model={model} ids={ids} />
      </span>
      <ColumnHeads {...sortingOf(model)} />
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

/** The same as a menu, in the list's narrow form. */
export function SessionsOrder({ model }: { model: SessionsModel }) {
  return <OrderMenu {...sortingOf(model)} />;
}

function sortingOf(model: SessionsModel) {
  return {
    columns: COLUMNS,
    order: model.order.value,
    sort: (by: SessionColumn) => model.sort(by),
  };
}
