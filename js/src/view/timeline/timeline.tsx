/** The timeline: filter, Follow, and the rows of the run. */
import { useComputed } from "@preact/signals";
import { useRef } from "preact/hooks";
import { Icon } from "../../icons/icon";
import type { Debugger } from "../../model/debugger";
import { Button } from "../button";
import { count } from "../words";
import { filterRows } from "./filter";
import { filesOfRows, linesOf } from "./lines";
import { Rows } from "./rows";

export function Timeline({ model }: { model: Debugger }) {
  const shown = useComputed(() => {
    const files = filesOfRows(model.rows.value, model.files.value);
    const rows = filterRows(model.rows.value, model.filter.value, files);
    return linesOf(rows, files, model.folded.value);
  });
  const lines = shown.value;
  return (
    <section class="as-Pane" aria-label="Timeline">
      <div class="as-PaneBar">
        <Filter model={model} />
        <Follow model={model} />
      </div>
      {lines.length === 0 && model.filter.value !== "" ? (
        <NoMatch model={model} />
      ) : (
        <Rows model={model} lines={lines} />
      )}
    </section>
  );
}

function Filter({ model }: { model: Debugger }) {
  const input = useRef<HTMLInputElement>(null);
  const toRows = () => {
    const pane = input.current?.closest(".as-Pane");
    pane?.querySelector<HTMLElement>('.as-Row[tabindex="0"]')?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape" && model.filter.value !== "") model.filter.value = "";
    else if (["Escape", "Enter", "ArrowDown"].includes(event.key)) toRows();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <label class="as-Search">
      <Icon name="search" small />
      <input
        ref={input}
        class="as-Input as-Filter"
        type="text"
        placeholder="Filter events"
        aria-label="Filter events"
        title="Filter by number, actor, tool, file or text (/)"
        spellcheck={false}
        value={model.filter.value}
        onInput={(event) => {
          model.filter.value = event.currentTarget.value;
        }}
        onKeyDown={onKeyDown}
      />
      {model.filter.value === "" && <kbd class="as-Kbd">/</kbd>}
    </label>
  );
}

function Follow({ model }: { model: Debugger }) {
  const on = model.follow.value;
  return (
    <Button
      icon="follow"
      name="Follow"
      hint={on ? "Following: the timeline stays at its end" : "Follow: stay at the end"}
      pressed={on}
      onClick={() => model.setFollow(!on)}
    />
  );
}

function NoMatch({ model }: { model: Debugger }) {
  return (
    <div class="as-Empty">
      <h3 class="as-Ellipsis">No event matches “{model.filter.value.trim()}”</h3>
      <p>
        {count(model.rows.value.length, "event")} filtered out. The filter looks at numbers, actors,
        tool names, changed files and what happened.
      </p>
      <div class="as-Empty-actions">
        <Button
          outline
          icon="close"
          hint="Show all events again"
          onClick={() => {
            model.filter.value = "";
          }}
        >
          Clear the filter
        </Button>
      </div>
    </div>
  );
}
