/** The header's way to the overview: how many rows effect checks have marked. */
import { Icon } from "../icons/icon";
import type { Debugger } from "../model/debugger";
import { markedCount } from "../model/effects";
import { cx } from "../view/hooks";

export function OverviewItem({ model }: { model: Debugger }) {
  if (!model.run.value) return null;
  const count = markedCount(model);
  const warns = (model.run.value.effects?.warnings ?? 0) > 0 && count > 0;
  const words =
    count === 0
      ? ""
      : `, ${count === 1 ? "1 marked row" : `${count.toLocaleString("en-US")} marked rows`}`;
  const name = `Overview: calls by tool${words}`;
  return (
    <button
      type="button"
      class={cx("as-Button as-OverviewButton", warns && "as-mod-bad", count === 0 && "as-x-wide")}
      title={name}
      aria-label={name}
      onClick={() => {
        model.tab.value = "overview";
      }}
    >
      <Icon name={warns ? "warn" : "bars"} />
      {count > 0 && <span class="as-Count">{count}</span>}
    </button>
  );
}
