/** A commit's files as a tree, and the tree as the lines that are in sight. */
import type { Commit } from "../model/model";

export type FileChange = Commit["changes"][number];

export interface Folder {
  readonly kind: "folder";
  /** Its whole path: what it is known by. */
  readonly path: string;
  /** What is shown: several folders where each holds only the next. */
  readonly name: string;
  readonly children: readonly Entry[];
}

export interface File {
  readonly kind: "file";
  readonly path: string;
  readonly name: string;
  readonly change: FileChange;
}

export type Entry = Folder | File;

interface Growing {
  folders: Map<string, Growing>;
  files: File[];
}

export function fileTree(changes: readonly FileChange[]): Entry[] {
  const root: Growing = { folders: new Map(), files: [] };
  for (const change of changes) {
    const steps = change.path.split("/");
    const name = steps.pop() ?? change.path;
    let at = root;
    for (const step of steps) {
      const next = at.folders.get(step) ?? { folders: new Map(), files: [] };
      at.folders.set(step, next);
      at = next;
    }
    at.files.push({ kind: "file", path: change.path, name, change });
  }
  return grown(root, "");
}

/** Folders first, each by name. */
function grown({ folders, files }: Growing, above: string): Entry[] {
  const inside = [...folders]
    .sort(([a], [b]) => compare(a, b))
    .map(([name, one]) => folder(one, above, name));
  return [...inside, ...files.toSorted((a, b) => compare(a.name, b.name))];
}

function folder(one: Growing, above: string, name: string): Folder {
  const path = `${above}${name}`;
  const [only] = one.folders;
  if (only && one.folders.size === 1 && one.files.length === 0) {
    const inner = folder(only[1], `${path}/`, only[0]);
    return { ...inner, name: `${name}/${inner.name}` };
  }
  return { kind: "folder", path, name, children: grown(one, `${path}/`) };
}

function compare(a: string, b: string): number {
  return a.localeCompare(b, "en", { numeric: true });
}

/** A line of the tree. */
export interface TreeLine {
  readonly entry: Entry;
  readonly level: number;
  /** The line of its folder. */
  readonly parent: number | undefined;
  readonly open: boolean | undefined;
}

/** The lines that are in sight, with some folders folded. */
export function treeLines(entries: readonly Entry[], folded: ReadonlySet<string>): TreeLine[] {
  const lines: TreeLine[] = [];
  const add = (some: readonly Entry[], level: number, parent: number | undefined) => {
    for (const entry of some) {
      const open = entry.kind === "folder" ? !folded.has(entry.path) : undefined;
      lines.push({ entry, level, parent, open });
      if (entry.kind === "folder" && open) add(entry.children, level + 1, lines.length - 1);
    }
  };
  add(entries, 1, undefined);
  return lines;
}

/** The first file as it stands in the tree. */
export function firstFile(entries: readonly Entry[]): File | undefined {
  for (const entry of entries) {
    const file = entry.kind === "file" ? entry : firstFile(entry.children);
    if (file) return file;
  }
  return undefined;
}

/** Lines added and removed by a whole commit. */
export function totals(changes: readonly FileChange[]): { added: number; removed: number } {
  return {
    added: changes.reduce((sum, one) => sum + one.added, 0),
    removed: changes.reduce((sum, one) => sum + one.removed, 0),
  };
}
