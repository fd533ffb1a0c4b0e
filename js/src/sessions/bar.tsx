/** Above the list: show fewer of the sessions, and, where columns have no heads, sort them. */
import { Icon } from "../icons/icon";
import { cx } from "../view/classes";
import { ChooseAll, SessionsOrder } from "./head";
import type { SessionsModel } from "./model";
import type { StateFilter } from "./sorting";
import { STATUSES } from "./status";

interface BarProps {
  model: SessionsModel;
  narrow: boolean;
  /** The sessions that are listed. */
  ids: readonly string[];
}

export function Bar({ model, narrow, ids }: BarProps) {
  return (
    <div class={cx("as-PaneBar as-SessBar", narrow && "as-mod-narrow")}>
      {narrow && <ChooseAll model={model} ids={ids} />}
      <label class="as-Search">
        <Icon name="search" small />
        <input
          type="search"
          class="as-Input as-SessSearch"
          placeholder="Agent, session, last words"
          aria-label="Show only sessions in which this stands"
          value={model.filter.value.text}
          onInput={({ currentTarget }) => model.narrow({ text: currentTarget.value })}
          onKeyDown={(event) => {
            if (event.key !== "Escape" || model.filter.peek().text === "") return;
            model.narrow({ text: "" });
            event.stopPropagation();
          }}
        />
      </label>
      <select
        class="as-Input as-Select"
        aria-label="Show only sessions in this state"
        value={model.filter.value.state}
        onChange={({ currentTarget }) =>
          model.narrow({ state: currentTarget.value as StateFilter })
        }
      >
        <option value="">All states</option>
        <option value="live">Not ended</option>
        {Object.entries(STATUSES).map(([status, { words }]) => (
          <option key={status} value={status}>
            {words}
          </option>
        ))}
      </select>
      {narrow && <SessionsOrder model={model} />}
    </div>
  );
}
