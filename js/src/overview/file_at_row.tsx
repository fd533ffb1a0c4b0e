/** A file as it was at any row of the run, beside what the call of that row asked to write. */
import { useEffect, useMemo, useRef } from "preact/hooks";
import { diffTexts, linesBetween } from "../diff/lines";
import { DiffTable, useSides } from "../diff/table";
import { Icon } from "../icons/icon";
import type { Commit, FileAtRow, Model, RunOverview, TimelineRow } from "../model/model";
import { Button, CopyButton } from "../view/button";
import { escapeInvisible } from "../view/format";
import { useLoaded } from "../view/lazy";
import { NotFetched } from "../view/notices";

interface FileAtRowPaneProps {
  model: Model;
  file: FileAtRow;
  overview: RunOverview;
  onClose(): void;
}

/** What the file held, and what a call wanted to make of it. */
interface FoundFile {
  /** Null: it isn't known, since the run had not changed the file by then. */
  content: string | null;
  asked: string | null;
}

export function FileAtRowPane({ model, file, overview, onClose }: FileAtRowPaneProps) {
  const versions = useVersions(model, file.path);
  const current = versions.findLast((one) => rowOf(model, one) <= file.row);
  const next = current ? undefined : versions[0];
  const key = `${file.path} ${file.row} ${current?.id ?? next?.id ?? ""}`;
  // Without a commit of the file, nothing can be said of it before all commits are here.
  const enabled = model.allCommits.value || versions.length > 0;
  const loading = useLoaded(model, key, () => read(model, file, current, next), { enabled });
  const pane = useRef<HTMLDivElement>(null);
  const back = useRef<HTMLDivElement>(null);
  useEffect(() => back.current?.querySelector("button")?.focus(), []);
  const go = (row: number) => {
    model.fileAtRow.value = { path: file.path, row };
  };
  return (
    <section class="as-Pane" aria-label="File at a row">
      <div class="as-PaneBar" ref={back}>
        <Button icon="left" hint="Back to the overview" onClick={onClose} />
        <h3 class="as-Title" title={escapeInvisible(file.path)}>
          <Icon name="file" small />
          <span class="as-Ellipsis as-PathStart">
            <bdi>{escapeInvisible(file.path)}</bdi>
          </span>
        </h3>
        <span class="as-Spring" />
        <label class="as-AtRow">
          {"at row "}
          <input
            class="as-Input"
            type="number"
            min={1}
            max={overview.rows}
            value={file.row}
            onChange={(event) => {
              const row = Number(event.currentTarget.value);
              if (row >= 1) go(Math.min(row, overview.rows));
            }}
          />
        </label>
        <button type="button" class="as-Link as-Small" onClick={() => model.reveal(file.row)}>
          Show row
        </button>
        {loading.kind === "ready" && loading.value.content !== null && (
          <CopyButton label="Copy the file" text={() => contentOf(loading.value)} />
        )}
      </div>
      <p class="as-Note as-Versions">
        {"Changed at row "}
        {versions.map((one) => {
          const row = rowOf(model, one);
          return (
            <button
              key={one.id}
              type="button"
              class="as-Link"
              aria-current={one === current || undefined}
              onClick={() => go(row)}
            >
              {row}
            </button>
          );
        })}
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keys */}
      <div ref={pane} class="as-Scroll" role="region" aria-label="The file" tabIndex={0}>
        {loading.kind === "loading" && <p class="as-Note as-Late">Fetching the file…</p>}
        {loading.kind === "failed" && (
          <NotFetched
            title="The file could not be fetched"
            why={loading.message}
            hint="Ask for the file again"
            onRetry={loading.retry}
          />
        )}
        {loading.kind === "ready" && <Shown found={loading.value} file={file} pane={pane} />}
      </div>
    </section>
  );
}

interface ShownProps {
  found: FoundFile;
  file: FileAtRow;
  pane: { current: HTMLDivElement | null };
}

function Shown({ found: { content, asked }, file, pane }: ShownProps) {
  const sides = useSides(pane);
  const compares = asked !== null && content !== null;
  const blocks = useMemo(() => {
    if (!compares) return [{ hunks: [{ lines: linesBetween(content ?? "", content ?? "") }] }];
    return [{ hunks: diffTexts(asked, content) }];
  }, [content, asked]);
  if (content === null) {
    return (
      <p class="as-Note">
        Its text at this row isn’t stored: the file is binary, too large, or didn’t exist yet.
      </p>
    );
  }
  if (compares && asked === content)
    return (
      <>
        <p class="as-Note as-Good">The file holds just what the call asked to write.</p>
        <Plain content={content} />
      </>
    );
  if (!compares) return <Plain content={content} />;
  return (
    <>
      <p class="as-Note as-Bad">
        The call asked to write what is marked as removed; the file holds what is marked as added.
      </p>
      <DiffTable
        label={`What was asked, and ${file.path} after it`}
        blocks={blocks}
        sides={sides}
        numbered
      />
    </>
  );
}

function Plain({ content }: { content: string }) {
  return <pre class="as-Pre as-FileText">{escapeInvisible(content) || "The file is empty."}</pre>;
}

const contentOf = ({ content }: FoundFile): string => content ?? "";

/** The commits that changed a file, oldest first; further ones are asked for until all are here. */
function useVersions(model: Model, path: string): readonly Commit[] {
  const commits = model.commits.value;
  const all = model.allCommits.value;
  useEffect(() => {
    if (!all) void model.moreCommits();
  }, [commits, all]);
  return useMemo(() => {
    const seen = new Set<number>();
    return commits
      .filter(({ changes }) => changes.some((one) => one.path === path))
      .filter(
        (one) => one.snapshot || !commits.some((other) => other.snapshot && covers(one, other)),
      )
      .filter(({ seq }) => !seen.has(seq) && seen.add(seq));
  }, [commits, path]);
}

/** Whether a named commit says again what a snapshot before it said. */
const covers = (named: Commit, snapshot: Commit): boolean => snapshot.seq <= named.seq;

/** The row at which a commit was made: the end of its event. */
function rowOf(model: Model, { event, seq, snapshot }: Commit): number {
  if (!snapshot) return seq;
  const end = model.rows.value.find((row) => row.event === event && row.side === "end");
  return end?.seq ?? seq + 1;
}

async function read(
  model: Model,
  file: FileAtRow,
  current: Commit | undefined,
  next: Commit | undefined,
): Promise<FoundFile> {
  const commit = current ?? next;
  const body = commit ? await model.change(commit.id, file.path) : null;
  const content = body && (current ? body.content : body.previous_content);
  return { content: content ?? null, asked: await askedAt(model, file) };
}

/** What the call that ended at a row was to write, whole; null where it wasn't. */
async function askedAt(model: Model, { path, row }: FileAtRow): Promise<string | null> {
  const end = model.rows.peek().find(({ seq }) => seq === row);
  const begin = model.rows.peek().find((one) => one.event === end?.event && one.side === "begin");
  if (end?.kind !== "tool_invocation" || !begin) return null;
  return contentAsked(await textOf(model, begin), path);
}

async function textOf(model: Model, row: TimelineRow): Promise<string> {
  const { edit, data } = await model.body(row);
  return edit ?? data;
}

const CONTENT_KEYS = ["content", "contents", "file_text", "new_content", "text"];

/** What a call asks to make of a file, whole; null where it names another file, or asks for a part. */
export function contentAsked(json: string, path: string): string | null {
  try {
    const parsed: unknown = JSON.parse(json);
    const { Argument: inner } = isObject(parsed) ? (parsed as { Argument?: unknown }) : {};
    const args = inner ?? parsed;
    if (!isObject(args) || "old" in args || "old_str" in args) return null;
    const named = Object.values(args).some(
      (one) => typeof one === "string" && (one === path || one.endsWith(`/${path}`)),
    );
    const content = CONTENT_KEYS.map((key) => args[key]).find((one) => typeof one === "string");
    return named && typeof content === "string" ? content : null;
  } catch {
    return null;
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
