/** What is done with a run in its own place in the list: named, tagged, exported, deleted. */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Debugger } from "../model/debugger";
import { type ExportFormat, historyOf } from "../model/history";
import type { Run } from "../model/model";
import { Button } from "../view/button";
import { visible } from "../view/visible";
import { count } from "../view/words";
import { save } from "./files";
import { TagEditor } from "./tags";

export type EditKind = "rename" | "tags" | "export" | "delete";

export interface EditProps {
  model: Debugger;
  run: Run;
  onDone(): void;
}

interface PlaceProps {
  kind: EditKind;
  index: number;
  top: number;
}

export function RunEdit({ kind, index, top, ...props }: EditProps & PlaceProps) {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => box.current?.scrollIntoView?.({ block: "nearest" }), [kind]);
  const onKeyDown = (event: KeyboardEvent) => {
    event.stopPropagation(); // neither the list's keys nor the view's
    if (event.key !== "Escape") return;
    props.onDone();
    event.preventDefault();
  };
  const Part = PARTS[kind];
  return (
    <div
      ref={box}
      class="as-RunsEdit"
      role="row"
      data-run={props.run.id}
      aria-rowindex={index}
      style={{ top: `${top}px` }}
      onKeyDown={onKeyDown}
    >
      <div class="as-RunsEdit-cell" role="gridcell">
        <Part {...props} />
      </div>
    </div>
  );
}

function Renaming({ model, run, onDone }: EditProps) {
  const input = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    input.current?.focus({ preventScroll: true });
    input.current?.select();
  }, []);
  const keep = () => {
    const name = input.current?.value.trim() ?? "";
    if (name !== "" && name !== run.name) void model.rename(name, run.id);
    onDone();
  };
  return (
    <>
      <input
        ref={input}
        class="as-Input as-RunsEdit-field"
        aria-label={`A new name for ${visible(run.name)}`}
        maxLength={200}
        defaultValue={run.name}
        onKeyDown={(event) => event.key === "Enter" && keep()}
      />
      <Button outline hint="Take the new name (Enter)" onClick={keep}>
        Rename
      </Button>
      <Button icon="close" hint="Keep the old name (Esc)" onClick={onDone} />
    </>
  );
}

function Deleting({ model, run, onDone }: EditProps) {
  const [sent, setSent] = useState(false);
  const onDelete = async () => {
    setSent(true);
    await model.remove(run.id);
    onDone();
    await historyOf(model).askStore();
  };
  return (
    <>
      <span class="as-RunsEdit-words">
        Delete <bdi>{visible(run.name)}</bdi> and its {count(run.rows, "event")}? It can’t be
        brought back.
      </span>
      <Button
        outline
        class="as-mod-danger"
        hint={`Delete ${visible(run.name)} for good`}
        held={sent ? "It is being deleted" : null}
        onClick={() => void onDelete()}
      >
        Delete
      </Button>
      <Safe hint="Keep the run (Esc)" onClick={onDone}>
        Keep
      </Safe>
    </>
  );
}

const FORMATS: { format: ExportFormat; label: string; hint: string }[] = [
  {
    format: "archive",
    label: "Archive (.zip)",
    hint: "All there is of the run, notes and tags too, in files that other programs can read",
  },
  {
    format: "run",
    label: "Version 1 (.run)",
    hint: "What version 1 can open: without notes, tags and figures",
  },
];

function Exporting({ model, run, onDone }: EditProps) {
  const download = async (format: ExportFormat) => {
    onDone();
    const exported = await historyOf(model).exportRun(run, format);
    if (exported) save(exported);
  };
  return (
    <>
      <span class="as-RunsEdit-words">
        Export <bdi>{visible(run.name)}</bdi> as
      </span>
      {FORMATS.map(({ format, label, hint }) => (
        <Button key={format} outline hint={hint} onClick={() => void download(format)}>
          {label}
        </Button>
      ))}
      <Safe hint="Close (Esc)" icon="close" onClick={onDone} />
    </>
  );
}

interface SafeProps {
  hint: string;
  icon?: "close";
  onClick(): void;
  children?: ComponentChildren;
}

/** The answer that changes nothing: it has the focus. */
function Safe({ hint, icon, onClick, children }: SafeProps) {
  const box = useRef<HTMLSpanElement>(null);
  useLayoutEffect(() => box.current?.querySelector("button")?.focus({ preventScroll: true }), []);
  return (
    <span ref={box}>
      <Button outline={!icon} {...(icon && { icon })} hint={hint} onClick={onClick}>
        {children}
      </Button>
    </span>
  );
}

const PARTS = { rename: Renaming, tags: TagEditor, export: Exporting, delete: Deleting };
