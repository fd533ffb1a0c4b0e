/** Above the list: search in all runs, show fewer of them, compare two, take one in. */

import { useEffect, useRef, useState } from "preact/hooks";
import { readOnlyReason } from "../model/controls";
import type { Debugger } from "../model/debugger";
import { historyOf } from "../model/history";
import { Button } from "../view/button";
import { SearchField, Select } from "../view/fields";
import { escapeInvisible } from "../view/format";
import { exportDisabledReason, wireText } from "./edit";
import { OUTCOME_WORDS, tagsOf } from "./sorting";
import { RunsSortMenu } from "./table";

interface BarProps {
  model: Debugger;
  narrow: boolean;
}

export function Bar({ model, narrow }: BarProps) {
  const acts = (
    <>
      <Compare model={model} />
      <Import model={model} />
    </>
  );
  if (!narrow) {
    return (
      <div class="as-RunsBar">
        <WordsField model={model} />
        <FilterField model={model} />
        <Menus model={model} />
        <span class="as-Spring" />
        {acts}
      </div>
    );
  }
  return (
    <div class="as-RunsBar">
      <div class="as-RunsBar-line">
        <WordsField model={model} />
        {acts}
      </div>
      <div class="as-RunsBar-line">
        <FilterField model={model} />
        <RunsSortMenu history={historyOf(model)} />
      </div>
      <div class="as-RunsBar-line">
        <Menus model={model} />
      </div>
    </div>
  );
}

function FilterField({ model }: { model: Debugger }) {
  const history = historyOf(model);
  return (
    <SearchField
      icon="filter"
      class="as-RunsFilter"
      label="Filter by name, program or tag"
      placeholder="Filter by name"
      value={history.filter.value.text}
      onText={(text) => history.setFilter({ text })}
    />
  );
}

/** Words are looked for once the person pauses; Enter doesn't wait, Esc goes back to the list. */
const TYPING_PAUSE_MS = 300;

function WordsField({ model }: { model: Debugger }) {
  const history = historyOf(model);
  const [text, setText] = useState("");
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const ended = history.searchState.value === null;
  useEffect(() => () => clearTimeout(timer.current), []);
  useEffect(() => {
    if (!ended) return;
    clearTimeout(timer.current);
    setText("");
  }, [ended]);
  const search = (words: string) => {
    clearTimeout(timer.current);
    void history.search(words);
  };
  const onInput = (words: string) => {
    setText(words);
    clearTimeout(timer.current);
    if (words.trim() === "") search("");
    else timer.current = setTimeout(() => search(words), TYPING_PAUSE_MS);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.isComposing) return;
    if (event.key === "Enter") search(text);
    else if (event.key === "Escape") {
      setText("");
      search("");
      history.focused.value = {};
    } else if (event.key === "ArrowDown") focusFirst(event.currentTarget as Element);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const disabledReason = exportDisabledReason(model);
  return (
    <SearchField
      class="as-RunsWords"
      field="as-RunsSearch"
      label="Search runs, prompts, files"
      placeholder="Search runs, prompts, files"
      title={disabledReason ?? "Search all stored data of all runs (/)"}
      readOnly={disabledReason !== null}
      maxLength={1000}
      value={text}
      onText={onInput}
      onKeyDown={onKeyDown}
    />
  );
}

/** From the field into what stands below. */
function focusFirst(field: Element): void {
  const below = field.closest(".as-Runs")?.querySelectorAll<HTMLElement>('[tabindex="0"]') ?? [];
  const rows = [...below].filter((each) => each.closest("[hidden]") === null);
  rows.find((each) => each.matches(".as-RunRow, .as-Hit"))?.focus();
}

function Menus({ model }: { model: Debugger }) {
  const history = historyOf(model);
  const { runs } = model;
  const { outcome, tag } = history.filter.value;
  const tags = tagsOf(runs.value);
  const offered = [...new Set([...tags, tag].filter(Boolean))];
  return (
    <>
      <Select
        label="Outcome"
        value={outcome}
        options={[["", "Any outcome"], ...OUTCOME_WORDS]}
        onChange={(each) => history.setFilter({ outcome: each })}
      />
      {(tags.length > 0 || tag !== "") && (
        <Select
          label="Tag"
          value={tag}
          options={[
            ["", "Any tag"],
            ...offered.map((each) => [each, escapeInvisible(each)] as const),
          ]}
          onChange={(each) => history.setFilter({ tag: each })}
        />
      )}
    </>
  );
}

function Compare({ model }: { model: Debugger }) {
  const [first, second] = historyOf(model).chosen.value.flatMap((id) =>
    model.runs.value.filter((run) => run.id === id),
  );
  const disabledReason = second ? null : "Choose two runs by their boxes, or with Space";
  const compare = () => {
    if (!first || !second) return;
    // The earlier one on the left, however they were chosen.
    const [left, right] = first.started_at <= second.started_at ? [first, second] : [second, first];
    model.compare.value = { left: left.id, right: right.id };
  };
  return (
    <Button
      icon="compare"
      name="Compare"
      hint="Compare the two chosen runs"
      disabledReason={disabledReason}
      onClick={compare}
    >
      <span class="as-x-medium">Compare</span>
    </Button>
  );
}

/** What the browser offers to pick; what is in a file is told by its first bytes. */
const FILES = ".run,.zip";

export function Import({ model, outline = false }: { model: Debugger; outline?: boolean }) {
  const history = historyOf(model);
  const input = useRef<HTMLInputElement>(null);
  const busy =
    history.fileNotice.value?.tone === "busy" ? "A file is already being transferred" : null;
  const take = () => {
    const file = input.current?.files?.[0];
    if (!input.current || !file) return;
    input.current.value = ""; // the same file may be picked again
    void history.importRun(file.name, () => wireText(file));
  };
  return (
    <>
      <Button
        icon="import"
        name="Import"
        outline={outline}
        hint="Import a run from a .run file or an archive"
        disabledReason={readOnlyReason(model) ?? busy}
        onClick={() => input.current?.click()}
      >
        <span class={outline ? "" : "as-x-medium"}>Import</span>
      </Button>
      <input
        ref={input}
        class="as-RunsFile"
        type="file"
        accept={FILES}
        aria-label="A file with a run"
        tabIndex={-1}
        hidden
        onChange={take}
      />
    </>
  );
}
