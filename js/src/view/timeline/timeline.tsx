/** The timeline: filter, Follow, and the rows of the run. */

import { useComputed, useSignalEffect } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { Debugger } from "../../model/debugger";
import { isSameFilter, type RowFilter } from "../../model/rows";
import { Button } from "../button";
import { SearchField } from "../fields";
import { formatCount } from "../format";
import { lazy, withStyles } from "../lazy";
import { Empty } from "../notices";
import { LaneFilter } from "./lane";
import { type FilteredRows, filesOfRows, isFiltered, Lines, rowsLeftByFilter } from "./lines";
import { Rows } from "./rows";

// ---- The search in a run, a chunk of its own.

/** Something has the place and the focus at once: what is below moves once, and no key acts as another's. */
const FindBar = lazy<{ model: Debugger }>(
  async () => {
    const { Find, styles } = await import("../../find");
    return withStyles(Find, "find", styles);
  },
  <div class="as-PaneBar">
    <input
      ref={(input) => input?.focus()}
      class="as-Input"
      readOnly
      aria-label="Find in this run"
      placeholder="Find in this run"
    />
  </div>,
);

export function Timeline({ model }: { model: Debugger }) {
  const shown = useShown(model);
  const { lines, left } = shown.value;
  return (
    <section class="as-Pane" aria-label="Timeline">
      <div class="as-PaneBar">
        <Filter model={model} left={left} />
        <LaneFilter model={model} />
        <Button
          icon="search"
          name="Find"
          hint="Find in all that this run holds (Ctrl+F)"
          pressed={model.searchRequest.value !== null}
          onClick={() => {
            model.searchRequest.value = model.searchRequest.value ? null : {};
          }}
        />
        <Follow model={model} />
      </div>
      {model.searchRequest.value && <FindBar model={model} />}
      {lines.count === 0 && isFiltered(lines.filter) ? (
        <NoMatch model={model} filter={lines.filter} />
      ) : (
        <Rows model={model} lines={lines} />
      )}
    </section>
  );
}

const filterOf = (model: Debugger): RowFilter => ({
  text: model.filter.value.trim(),
  lanes: model.shownLanes.value,
});

/** The lines to draw. The Core is asked which rows a filter leaves: it has all of them, and whole results. */
function useShown(model: Debugger) {
  useSignalEffect(() => {
    const { length } = model.window.rows.value;
    const filter = filterOf(model);
    const run = model.run.value?.id;
    const lanes = model.lanes.value;
    // Where agents are seen in a part of a long run, there may be more: the Core knows all.
    const wanted = isFiltered(filter) || (lanes.all.length > 0 && !lanes.complete);
    model.finder.find(wanted && run ? { run, ...filter, length } : null);
  });
  return useComputed(() => {
    const rows = model.window.rows.value;
    const files = filesOfRows(rows.all, model.files.value);
    const left = rowsLeftByFilter(filterOf(model), rows, files, model.finder.found.value);
    const folded = model.foldedRows.value;
    return { left, lines: new Lines({ rows, files, folded, ...(left ?? {}) }) };
  });
}

function Filter({ model, left }: { model: Debugger; left: FilteredRows | null }) {
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
    <SearchField
      icon="filter"
      inputRef={input}
      field="as-Filter"
      label="Filter events"
      placeholder={model.shownLanes.value.length > 0 ? "Filter" : "Filter events"}
      title="Filter by number, actor, agent, tool, file, or text of rows, results and answers (/)"
      spellcheck={false}
      value={model.filter.value}
      onText={(text) => {
        model.filter.value = text;
      }}
      onKeyDown={onKeyDown}
    >
      {model.filter.value === "" && model.shownLanes.value.length === 0 && (
        <kbd class="as-Kbd">/</kbd>
      )}
      {isFiltered(filterOf(model)) && <Counted model={model} left={left} />}
    </SearchField>
  );
}

/** How many rows the filter leaves. */
function Counted({ model, left }: { model: Debugger; left: FilteredRows | null }) {
  const isCurrent = left && isSameFilter(left.filter, filterOf(model));
  const words = isCurrent ? left.total.toLocaleString("en-US") : "…";
  const last = left && left.seqs.length < left.total;
  return (
    <span
      class="as-Filter-count"
      role="status"
      title={
        last ? `The last ${formatCount(left.seqs.length, "event")} of these are shown` : undefined
      }
    >
      {words}
    </span>
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

function NoMatch({ model, filter }: { model: Debugger; filter: RowFilter }) {
  const clear = (
    <Button outline icon="close" hint="Show all events again" onClick={() => model.clearFilter()}>
      Clear the filter
    </Button>
  );
  return (
    <Empty actions={clear}>
      <h3 class="as-Ellipsis">
        {filter.text === "" ? "No event" : `No event matches “${filter.text}”`}
        {filter.lanes.length > 0 && " of the agents chosen"}
      </h3>
      <p>
        {formatCount(model.window.rows.value.length, "event")} filtered out. The filter looks at
        numbers, actors, tool names, changed files, what happened, and whole results and answers.
      </p>
    </Empty>
  );
}
