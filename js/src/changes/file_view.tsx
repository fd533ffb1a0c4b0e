/** One changed file: before and after. */

import { useMemo, useRef, useState } from "preact/hooks";
import { diffTexts, type Hunk, parseUnified } from "../diff/lines";
import { type Block, DiffTable, type Sides, useSides } from "../diff/table";
import { Icon } from "../icons/icon";
import type { Commit, FileBody, Model } from "../model/model";
import { CopyButton, type Segment, Segments } from "../view/button";
import { escapeInvisible, formatSize } from "../view/format";
import { type LoadState, useLoaded } from "../view/lazy";
import { CodeLine, Empty, NotFetched } from "../view/notices";
import { Diffstat } from "./change_badges";
import type { FileChange } from "./tree";

export interface FileViewProps {
  model: Model;
  commit: Commit;
  change: FileChange;
  /** Where else this is shown. */
  link: FileLink | null;
}

export interface FileLink {
  /** Said before the text where there is room. */
  prefix: string;
  text: string;
  hint: string;
  onClick(): void;
}

const SIDES: readonly Segment<Sides>[] = [
  { key: "split", label: "Split", title: "Before and after side by side" },
  { key: "unified", label: "Unified", title: "Before and after one under the other" },
];

/** What the person chose last; null leaves it to the room there is. */
let chosen: Sides | null = null;

/** What fills a pane: the bar with the file's name, and the file before and after. */
export function FileView({ model, commit, change, link }: FileViewProps) {
  const pane = useRef<HTMLDivElement>(null);
  const fitting = useSides(pane);
  const [shownSides, setShownSides] = useState(chosen);
  const sides = shownSides ?? fitting;
  const key = `${commit.id} ${change.path}`;
  const load = () => model.change(commit.id, change.path);
  const loading = useLoaded(model, key, load, { enabled: hasText(change) });
  const hunks = useMemo(() => (loading.kind === "ready" ? hunksOf(loading.value) : []), [loading]);
  const blocks = useMemo(() => (hunks.length > 0 ? [{ hunks }] : []), [hunks]);
  return (
    <>
      <div class="as-PaneBar">
        <h3 class="as-Title" title={change.path}>
          <span class="as-Actor as-mod-system">
            <Icon name="file" />
          </span>
          <span class="as-Ellipsis as-PathStart">
            <bdi>{escapeInvisible(change.path)}</bdi>
          </span>
          <Diffstat added={change.added} removed={change.removed} />
        </h3>
        <span class="as-Spring" />
        {link && (
          <>
            <button
              type="button"
              class="as-Link as-Small as-MadeBy"
              title={link.hint}
              onClick={link.onClick}
            >
              <span class="as-x-long">{link.prefix}</span>
              {link.text}
            </button>
            {hunks.length > 0 && <span class="as-Rule" />}
          </>
        )}
        {hunks.length > 0 && (
          <span class="as-x-pane">
            <Segments
              label="Diff view"
              segments={SIDES}
              selected={sides}
              onSelect={(next) => {
                chosen = next;
                setShownSides(next);
              }}
            />
          </span>
        )}
        {loading.kind === "ready" && loading.value && (
          <CopyButton label="Copy the patch" text={() => patchOf(loading.value)} />
        )}
      </div>
      {change.previous_path && (
        <p class="as-Note">{`Renamed from ${escapeInvisible(change.previous_path)}`}</p>
      )}
      <div
        ref={pane}
        class="as-Scroll"
        role="region"
        aria-label={`${change.path} before and after`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keys
        tabIndex={0}
      >
        <Contents change={change} loading={loading} blocks={blocks} sides={sides} />
      </div>
    </>
  );
}

interface ContentsProps {
  change: FileChange;
  loading: LoadState<FileBody | null>;
  /** None where the texts are the same. */
  blocks: readonly Block[];
  sides: Sides;
}

function Contents({ change, loading, blocks, sides }: ContentsProps) {
  if (!hasText(change)) return <NotStored change={change} />;
  if (loading.kind === "loading") return <p class="as-Note as-Late">Fetching the file…</p>;
  if (loading.kind === "failed") {
    return (
      <NotFetched
        title="The file could not be fetched"
        why={loading.message}
        hint="Ask for the file again"
        onRetry={loading.retry}
      />
    );
  }
  if (loading.value === null) return <NotStored change={change} />;
  if (blocks.length === 0) return <p class="as-Note">{SAME[change.kind]}</p>;
  return (
    <DiffTable
      key={`${change.path} ${sides}`}
      label={`${change.path} before and after`}
      blocks={blocks}
      sides={sides}
      numbered
    />
  );
}

const SAME: Record<FileChange["kind"], string> = {
  added: "The file is new and empty.",
  changed: "Its text is the same; only its mode changed.",
  deleted: "The file was empty.",
  renamed: "Its text is the same.",
};

/** A file whose contents don't travel: what is known of it. */
function NotStored({ change }: { change: FileChange }) {
  const bytes = change.size == null ? undefined : formatSize(change.size);
  const what = change.binary ? "Binary" : "Large";
  return (
    <Empty title={bytes === undefined ? what : `${what}, ${bytes}`}>
      <p>
        {change.kind === "deleted"
          ? "The file was deleted. Its contents are not shown."
          : "Its contents are not stored, only what tells one version from another."}
      </p>
      {change.digest && <CodeLine code={change.digest} label="Copy the digest" />}
    </Empty>
  );
}

function hasText(change: FileChange): boolean {
  return !change.binary && change.digest == null;
}

/** Git's own hunks where they travelled with the commit: they name what they stand in. */
function hunksOf(body: FileBody | null): Hunk[] {
  if (!body) return [];
  const hunks = parseUnified(body.diff);
  return hunks.length > 0 ? hunks : diffTexts(body.previous_content, body.content);
}

function patchOf(body: FileBody | null): string {
  return body?.diff || body?.content || "";
}
