/** The list of runs, newest first: choose, rename, delete. */

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { StartButton } from "../../again/lazy";
import type { Debugger } from "../../model/debugger";
import type { Run } from "../../model/model";
import { runStatus } from "../../model/status";
import { Button } from "../button";
import { SearchField } from "../fields";
import { escapeInvisible, formatCount, formatDate } from "../format";
import { StateMark } from "../notices";
import { originWords } from "./origin";

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
  const shown = asTree(found.slice(0, MOST));
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
      {all.length >= MANY && (
        <SearchField
          class="as-Popover-filter"
          label="Find a run"
          placeholder="Find a run"
          value={filter}
          onText={setFilter}
        />
      )}
      <ul class="as-Scroll">
        {shown.map(({ run, depth }) => (
          <RunItem key={run.id} model={model} run={run} depth={depth} onClose={onClose} />
        ))}
      </ul>
      {found.length === 0 && <p class="as-Popover-note">No run is called so.</p>}
      {found.length > MOST && (
        <p class="as-Popover-note">{found.length - MOST} older runs: find them by name.</p>
      )}
    </div>
  );
}

function matching(runs: readonly Run[], filter: string): Run[] {
  const wanted = filter.trim().toLowerCase();
  const found = runs.filter(({ name }) => name.toLowerCase().includes(wanted));
  return found.reverse();
}

/** A run in the list, so many runs below the one that stands alone. */
interface Placed {
  run: Run;
  depth: number;
}

/** Deeper ones stand no further to the right. */
const DEEPEST = 4;

/** Runs with those below them that were started again from them, each newest first. */
export function asTree(runs: readonly Run[]): Placed[] {
  const ids = new Set(runs.map(({ id }) => id));
  const below = new Map<string, Run[]>();
  for (const run of runs) {
    const parent = parentIn(run, ids);
    below.set(parent, [...(below.get(parent) ?? []), run]);
  }
  const placed: Placed[] = [];
  const seen = new Set<string>();
  const place = (parent: string, depth: number) => {
    for (const run of below.get(parent) ?? []) {
      if (seen.has(run.id)) continue; // an import may say anything
      seen.add(run.id);
      placed.push({ run, depth: Math.min(depth, DEEPEST) });
      place(run.id, depth + 1);
    }
  };
  place("", 0);
  for (const run of runs) if (!seen.has(run.id)) placed.push({ run, depth: 0 });
  return placed;
}

function parentIn({ id, forked_from }: Run, ids: ReadonlySet<string>): string {
  const parent = forked_from?.run ?? "";
  return parent !== id && ids.has(parent) ? parent : "";
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

// ---- One run of the list: its state, name and time; renamed and deleted in place.

interface ItemProps {
  model: Debugger;
  run: Run;
  /** How many runs it stands below. */
  depth?: number;
  onClose(): void;
}

export function RunItem(props: ItemProps) {
  const [mode, setMode] = useState<"shown" | "renaming" | "deleting">("shown");
  const item = useRef<HTMLLIElement>(null);
  const left = useRef(false);
  const back = () => {
    left.current = true;
    setMode("shown");
  };
  // What had the focus is gone from the document: the run itself takes it.
  useLayoutEffect(() => {
    if (mode === "shown" && left.current) focusName(item.current);
    left.current = false;
  }, [mode]);
  return (
    <li ref={item} class="as-RunItem" style={{ "--as-depth": props.depth ?? 0 }}>
      {mode === "shown" && (
        <Shown
          {...props}
          onRename={() => setMode("renaming")}
          onDelete={() => setMode("deleting")}
        />
      )}
      {mode === "renaming" && <Renaming {...props} onDone={back} />}
      {mode === "deleting" && <Deleting {...props} onDone={back} />}
    </li>
  );
}

/** Focus the first run in a part of the list. */
export function focusName(within: Element | null): void {
  within?.querySelector<HTMLElement>(".as-RunItem-name")?.focus();
}

function Shown(props: ItemProps & { onRename(): void; onDelete(): void }) {
  const { model, run, onClose } = props;
  const status = runStatus(run);
  const { words, detail } = status;
  const name = escapeInvisible(run.name);
  const origin = originWords(run);
  const current = model.run.value?.id === run.id;
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "F2" && model.control.value) props.onRename();
    else if (event.key === "Delete" && model.control.value && run.state === "idle")
      props.onDelete();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <>
      <button
        type="button"
        class="as-RunItem-name"
        aria-current={current}
        title={escapeInvisible(`${name}\n${words}${detail ? `: ${detail}` : ""}\n${run.program}`)}
        onKeyDown={onKeyDown}
        onClick={() => {
          model.openRun(run.id);
          onClose();
        }}
      >
        <StateMark status={status} />
        <span class="as-Ellipsis">{name}</span>
        {origin && <span class="as-RunItem-origin as-Small">{origin}</span>}
        <span class="as-Muted as-Small">{words.replace("…", "")}</span>
        <span class="as-Spring" />
        <span class="as-RunItem-when as-Muted as-Small">{formatDate(run.started_at)}</span>
      </button>
      {model.control.value && (
        <span class="as-RunItem-acts">
          <StartButton model={model} run={run} hint={`Run ${name} again`} onStarted={onClose} />
          <Button icon="pencil" hint={`Rename ${name} (F2)`} onClick={props.onRename} />
          <Button
            icon="trash"
            hint={`Delete ${name}`}
            disabledReason={run.state === "idle" ? null : "A run can be deleted once it has ended"}
            onClick={props.onDelete}
          />
        </span>
      )}
    </>
  );
}

function Renaming({ model, run, onDone }: ItemProps & { onDone(): void }) {
  const input = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    input.current?.focus();
    input.current?.select();
  }, []);
  const save = () => {
    const name = input.current?.value.trim() ?? "";
    if (name !== "" && name !== run.name) void model.rename(name, run.id);
    onDone();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter") save();
    else if (event.key === "Escape") onDone();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <span class="as-RunItem-edit">
      <input
        ref={input}
        class="as-Input"
        aria-label={`A new name for ${escapeInvisible(run.name)}`}
        defaultValue={run.name}
        onKeyDown={onKeyDown}
      />
      <Button outline hint="Save the new name (Enter)" onClick={save}>
        Rename
      </Button>
      <Button icon="close" hint="Keep the old name (Esc)" onClick={onDone} />
    </span>
  );
}

function Deleting({ model, run, onDone }: ItemProps & { onDone(): void }) {
  const keep = useRef<HTMLSpanElement>(null);
  // The safe answer has the focus.
  useLayoutEffect(() => keep.current?.querySelector<HTMLElement>("button:last-child")?.focus(), []);
  return (
    <span ref={keep} class="as-RunItem-edit">
      <span class="as-Ellipsis as-Spring">
        Delete <bdi>{escapeInvisible(run.name)}</bdi>
        <span class="as-x-narrow"> and its {formatCount(run.rows, "event")}</span>?
      </span>
      <Button
        outline
        class="as-mod-danger"
        hint="The run can’t be restored"
        onClick={() => void model.remove(run.id)}
      >
        Delete
      </Button>
      <Button outline hint="Keep the run" onClick={onDone}>
        Keep
      </Button>
    </span>
  );
}
