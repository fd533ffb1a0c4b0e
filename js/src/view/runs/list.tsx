/** The list of runs, newest first: choose, rename, delete. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon } from "../../icons/icon";
import type { Debugger } from "../../model/debugger";
import type { Run } from "../../model/model";
import { focusName, RunItem } from "./item";

/** More runs than this are only found by the filter. */
const MOST = 100;
/** From so many runs on there is a filter. */
const MANY = 8;

export { default as styles } from "../../styles/picker.css";

export interface ListProps {
  model: Debugger;
  onClose(): void;
}

export function RunList({ model, onClose }: ListProps) {
  const [filter, setFilter] = useState("");
  const box = useRef<HTMLDivElement>(null);
  const all = model.runs.value;
  const found = matching(all, filter);
  const shown = found.slice(0, MOST);
  useLayoutEffect(() => {
    const current = box.current?.querySelector<HTMLElement>('[aria-current="true"]');
    if (current) current.focus();
    else focusName(box.current);
  }, []);
  // A run that was deleted takes the focus with it.
  useLayoutEffect(() => {
    if (document.activeElement === document.body) focusName(box.current);
  }, [all.length]);
  return (
    <div
      ref={box}
      class="as-Popover"
      role="dialog"
      aria-label="Runs"
      onKeyDown={(event) => onKeyDown(event, box.current, onClose)}
    >
      {all.length >= MANY && <Filter value={filter} onInput={setFilter} />}
      <ul class="as-Scroll">
        {shown.map((run) => (
          <RunItem key={run.id} model={model} run={run} onClose={onClose} />
        ))}
      </ul>
      {found.length === 0 && <p class="as-Popover-note">No run is called so.</p>}
      {found.length > MOST && (
        <p class="as-Popover-note">{found.length - MOST} older runs: find them by name.</p>
      )}
    </div>
  );
}

function Filter({ value, onInput }: { value: string; onInput(text: string): void }) {
  return (
    <label class="as-Search as-Popover-filter">
      <Icon name="search" small />
      <input
        class="as-Input"
        type="text"
        placeholder="Find a run"
        aria-label="Find a run"
        value={value}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
    </label>
  );
}

function matching(runs: readonly Run[], filter: string): Run[] {
  const wanted = filter.trim().toLowerCase();
  const found = runs.filter(({ name }) => name.toLowerCase().includes(wanted));
  return found.reverse();
}

/** Up and Down go from run to run, Esc closes. */
function onKeyDown(event: KeyboardEvent, box: HTMLElement | null, close: () => void): void {
  if (event.key === "Escape") {
    close();
  } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    const names = [...(box?.querySelectorAll<HTMLElement>(".as-RunItem-name") ?? [])];
    const item = document.activeElement?.closest(".as-RunItem");
    const at = names.findIndex((name) => item?.contains(name));
    const to = at + (event.key === "ArrowDown" ? 1 : -1);
    names[Math.min(names.length - 1, Math.max(0, to))]?.focus();
  } else {
    return;
  }
  event.preventDefault();
  event.stopPropagation();
}
