/** What is done with a run in its own place in the list: named, tagged, exported, deleted. */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon } from "../icons/icon";
import type { Debugger } from "../model/debugger";
import { type ExportFormat, historyOf } from "../model/history";
import type { Run } from "../model/model";
import type { RunExported } from "../protocol/types.gen";
import { Button } from "../view/button";
import { escapeInvisible, formatCount } from "../view/format";
import { tagsOf } from "./sorting";

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
    if (event.isComposing || event.key !== "Escape") return;
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
        aria-label={`A new name for ${escapeInvisible(run.name)}`}
        maxLength={200}
        defaultValue={run.name}
        onKeyDown={(event) => event.key === "Enter" && !event.isComposing && keep()}
      />
      <Button outline hint="Save the new name (Enter)" onClick={keep}>
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
    await historyOf(model).requestStoreInfo();
  };
  return (
    <>
      <span class="as-RunsEdit-words">
        Delete <bdi>{escapeInvisible(run.name)}</bdi> and its {formatCount(run.rows, "event")}? It
        can’t be brought back.
      </span>
      <Button
        outline
        class="as-mod-danger"
        hint={`Delete ${escapeInvisible(run.name)} for good`}
        disabledReason={sent ? "The run is being deleted" : null}
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
    hint: "All data of the run, with notes and tags, in files that other programs can read",
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
    if (exported) downloadFile(exported);
  };
  return (
    <>
      <span class="as-RunsEdit-words">
        Export <bdi>{escapeInvisible(run.name)}</bdi> as
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

// ---- A run's tags, taken away and added one by one; each change is sent at once.

/** As many the Core takes, and as long. */
const MAX_TAGS = 20;
const MAX_TAG_CHARS = 60;
const MOST_OFFERED = 6;

export function TagEditor({ model, run, onDone }: EditProps) {
  const field = useRef<HTMLInputElement>(null);
  const [tags, setTags] = useState<readonly string[]>(run.tags);
  const [text, setText] = useState("");
  const [problem, setProblem] = useState<string | null>(null);
  useLayoutEffect(() => field.current?.focus({ preventScroll: true }), []);

  const full = tags.length >= MAX_TAGS;
  const put = async (next: readonly string[]) => {
    setTags(next);
    setText("");
    field.current?.focus({ preventScroll: true });
    setProblem(await historyOf(model).tag(run.id, [...next]));
  };
  const add = (tag: string) => {
    const word = tag.trim();
    if (word !== "" && !full && !tags.includes(word)) void put([...tags, word]);
    else setText("");
  };
  const remove = (tag: string) => void put(tags.filter((each) => each !== tag));
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.isComposing) return;
    const last = tags.at(-1);
    if (event.key === "Enter" && text.trim() === "") onDone();
    else if (event.key === "Enter" || event.key === ",") add(text);
    else if (event.key === "Backspace" && text === "" && last !== undefined) remove(last);
    else return;
    event.preventDefault();
  };
  return (
    <>
      <span class="as-RunsEdit-words">
        Tags of <bdi>{escapeInvisible(run.name)}</bdi>
      </span>
      {tags.map((tag) => (
        <span key={tag} class="as-Tag as-RunTag as-mod-edited">
          <span class="as-Ellipsis">{escapeInvisible(tag)}</span>
          <button
            type="button"
            class="as-RunTag-remove"
            title={`Remove the tag ${escapeInvisible(tag)}`}
            aria-label={`Remove the tag ${escapeInvisible(tag)}`}
            onClick={() => remove(tag)}
          >
            <Icon name="close" small />
          </button>
        </span>
      ))}
      <input
        ref={field}
        class="as-Input as-RunsEdit-field"
        aria-label={`A new tag for ${escapeInvisible(run.name)}`}
        placeholder={full ? `${MAX_TAGS} are the most` : "Add a tag"}
        maxLength={MAX_TAG_CHARS}
        readOnly={full}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      {!full &&
        offered(tagsOf(model.runs.value), tags, text).map((tag) => (
          <button key={tag} type="button" class="as-Tag as-RunTag-offer" onClick={() => add(tag)}>
            <span class="as-Hidden">Add </span>
            <span class="as-Ellipsis">{escapeInvisible(tag)}</span>
          </button>
        ))}
      <span class="as-Spring" />
      {problem && (
        <span class="as-Bad as-Small" role="alert">
          {problem}
        </span>
      )}
      <Button outline hint="Done (Esc)" onClick={onDone}>
        Done
      </Button>
    </>
  );
}

/** Tags of other runs that this one hasn't, as far as they fit what is being written. */
function offered(all: readonly string[], has: readonly string[], text: string): string[] {
  const wanted = text.trim().toLowerCase();
  const fit = all.filter((tag) => !has.includes(tag) && tag.toLowerCase().includes(wanted));
  return fit.slice(0, MOST_OFFERED);
}

// ---- Runs as files of the browser: saved, and read to be sent.

/** What a file of each format is called and made of. */
const KINDS = {
  run: { end: ".run", type: "application/octet-stream" },
  archive: { end: ".agentstepper.zip", type: "application/zip" },
} as const;

/** How every zip begins. */
const ZIP = [0x50, 0x4b, 0x03, 0x04];

/** The name that an exported run's file gets: without what a folder can't have in a name. */
export function fileName({ name, format }: Pick<RunExported, "name" | "format">): string {
  const { end } = KINDS[format];
  const whole = name.endsWith(end) ? name.slice(0, -end.length) : name;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it is for
  const stem = whole.replace(/[\0-\x1f\x7f/\\:*?"<>|]+/g, "_").replace(/^[ .]+|[ .]+$/g, "");
  return `${stem.slice(0, 120) || "run"}${end}`;
}

/** Let the browser save an exported run. */
export function downloadFile(exported: RunExported): void {
  const { data, format } = exported;
  const parts = format === "archive" ? bytesOf(data) : data;
  const url = URL.createObjectURL(new Blob([parts], { type: KINDS[format].type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = fileName(exported);
  link.click();
  // The browser has begun to read it by then; kept on, it would hold the memory.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** A file as it travels: an archive in base64, a `.run` file as the text that it is. */
export async function wireText(file: Blob): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  if (ZIP.every((byte, at) => bytes[at] === byte)) return base64(bytes);
  return new TextDecoder().decode(bytes).trim();
}

const SLICE = 0x8000;

/** In slices: a call takes only so many arguments. */
export function base64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += SLICE) {
    text += String.fromCharCode(...bytes.subarray(at, at + SLICE));
  }
  return btoa(text);
}

export function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
}

// ---- Why something about runs can't be done from here now.

/** Why nothing can be asked of the Core; null where it can. */
export function exportDisabledReason(model: Debugger): string | null {
  return model.connection.value.kind === "open" ? null : "Not connected to the Core";
}
