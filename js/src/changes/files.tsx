/** The files of a commit as a tree: folders fold, a letter says what happened to each. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { Icon } from "../icons/icon";
import { consumeKey, focusItem, nextItemIndex } from "../view/focus";
import { escapeInvisible } from "../view/format";
import { cx } from "../view/hooks";
import { ChangeLetter, Diffstat } from "./change_badges";
import { type Entry, type FileChange, type TreeLine, treeLines } from "./tree";

interface FilesProps {
  entries: readonly Entry[];
  /** The path of the file that is shown. */
  selected: string | null;
  onSelect(path: string): void;
}

/** As many lines are put on the page at once. */
const BATCH = 400;

export function Files({ entries, selected, onSelect }: FilesProps) {
  const [folded, setFolded] = useState<ReadonlySet<string>>(new Set());
  const [active, setActive] = useState<string | null>(null);
  const [shown, setShown] = useState(BATCH);
  const lines = useMemo(() => treeLines(entries, folded), [entries, folded]);
  useEffect(() => {
    setActive(null);
    setShown(BATCH);
  }, [entries]);

  // The one tab stop: where the person last was, else the file that is shown.
  const wanted = active ?? selected;
  const at = Math.max(
    0,
    lines.findIndex((one) => one.entry.path === wanted),
  );
  const fold = (path: string, open: boolean) => {
    const next = new Set(folded);
    if (open) next.delete(path);
    else next.add(path);
    setFolded(next);
  };
  const go = (to: number, list: Element) => {
    const line = lines[to];
    if (!line) return;
    setActive(line.entry.path);
    if (line.entry.kind === "file") onSelect(line.entry.path);
    requestAnimationFrame(() => focusItem(list, to));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const list = event.currentTarget as Element;
    const line = lines[at];
    const to =
      nextItemIndex(event.key, at, Math.min(lines.length, shown)) ?? sideways(event.key, line, at);
    if (to !== undefined) {
      consumeKey(event);
      go(to, list);
      return;
    }
    if (line?.entry.kind !== "folder") return;
    const open = opens(event.key, line);
    if (open === undefined) return;
    consumeKey(event);
    fold(line.entry.path, open);
  };
  return (
    <div class="as-Scroll">
      <div role="tree" aria-label="Changed files" onKeyDown={onKeyDown}>
        {lines.slice(0, shown).map((line, index) => (
          <Item
            key={line.entry.path}
            line={line}
            selected={line.entry.path === selected}
            tabStop={index === at}
            onPick={() => {
              setActive(line.entry.path);
              if (line.entry.kind === "file") onSelect(line.entry.path);
              else fold(line.entry.path, !line.open);
            }}
          />
        ))}
      </div>
      {lines.length > shown && (
        <button type="button" class="as-Fold" onClick={() => setShown(shown * 4)}>
          {`Show more: ${lines.length - shown} lines`}
        </button>
      )}
    </div>
  );
}

/** Right goes into an open folder, Left to the folder around. */
function sideways(key: string, line: TreeLine | undefined, at: number): number | undefined {
  if (key === "ArrowRight" && line?.open) return at + 1;
  if (key === "ArrowLeft" && !line?.open) return line?.parent;
  return undefined;
}

function opens(key: string, line: TreeLine): boolean | undefined {
  if (key === "ArrowRight" && !line.open) return true;
  if (key === "ArrowLeft" && line.open) return false;
  return key === "Enter" || key === " " ? !line.open : undefined;
}

interface ItemProps {
  line: TreeLine;
  selected: boolean;
  tabStop: boolean;
  onPick(): void;
}

const INDENT = 16;

function Item({ line: { entry, level, open }, selected, tabStop, onPick }: ItemProps) {
  const file = entry.kind === "file" ? entry.change : undefined;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the tree takes the keys
    <div
      class={cx("as-Item", file?.kind === "deleted" && "as-mod-gone")}
      role="treeitem"
      data-item
      aria-level={level}
      aria-expanded={open}
      aria-selected={selected}
      tabIndex={tabStop ? 0 : -1}
      style={{ paddingLeft: `${12 + (level - 1) * INDENT}px` }}
      title={file?.previous_path ? `${entry.path}, before ${file.previous_path}` : entry.path}
      onClick={onPick}
    >
      {file ? <span class="as-Item-twist" /> : <Icon name={open ? "down" : "right"} small />}
      <Icon name={file ? "file" : "folder"} small />
      <span class="as-Ellipsis as-Spring">
        <bdi class="as-Item-name">{escapeInvisible(entry.name)}</bdi>
        {file?.previous_path && (
          <span class="as-Muted as-Small">{` ← ${escapeInvisible(shortPath(file.previous_path, file.path))}`}</span>
        )}
      </span>
      {file && <Figures change={file} />}
    </div>
  );
}

function Figures({ change }: { change: FileChange }) {
  return (
    <>
      {change.binary ? (
        <span class="as-Muted as-Small">binary</span>
      ) : (
        <Diffstat added={change.added} removed={change.removed} />
      )}
      <ChangeLetter kind={change.kind} />
    </>
  );
}

/** The old name where only that changed, else the whole old path. */
function shortPath(previous: string, path: string): string {
  const folder = (of: string) => of.slice(0, of.lastIndexOf("/") + 1);
  return folder(previous) === folder(path) ? previous.slice(folder(previous).length) : previous;
}
