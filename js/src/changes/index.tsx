/** What the agent changed in its workspace: commits, their files, and each file before and after. */
import { useEffect, useMemo } from "preact/hooks";
import type { Commit, Model, Row } from "../model/model";
import { Split } from "../view/split";
import { Commits, rowsOfCommits, shortHash } from "./commits";
import { Diffstat } from "./diffstat";
import { NoChanges, NoCommits, NoWorkspace } from "./empty";
import { FileView } from "./file_view";
import { Files } from "./files";
import { fileTree, firstFile, totals } from "./tree";

export function Changes({ model }: { model: Model }) {
  const commits = useMemo(() => model.commits.value.toReversed(), [model.commits.value]);
  // Not at each new row, of which there may be many a second: a commit comes after the row it belongs to.
  const rows = useMemo(() => rowsOfCommits(model.rows.peek(), commits), [commits]);
  const selected = commits.find((one) => one.id === model.selectedCommit.value) ?? newest(commits);

  // What is read stays when a newer commit comes: the first choice is a choice.
  useEffect(() => {
    if (selected && model.selectedCommit.peek() === null) model.selectedCommit.value = selected.id;
  }, [selected]);

  if (!selected) return model.run.value?.workspace ? <NoCommits model={model} /> : <NoWorkspace />;
  return (
    <Split name="changes" label="Resize files and diff" class="as-mod-changes">
      <Lists
        model={model}
        commits={commits}
        rows={rows}
        selected={selected}
        onSelect={(commit) => {
          model.selectedCommit.value = commit.id;
        }}
      />
      <Shown model={model} commit={selected} row={rows.get(selected.id)} />
    </Split>
  );
}

/** The newest commit with something to see. */
function newest(commits: readonly Commit[]): Commit | undefined {
  return commits.find((one) => one.changes.length > 0) ?? commits[0];
}

interface ListsProps {
  model: Model;
  commits: readonly Commit[];
  rows: ReadonlyMap<string, Row>;
  selected: Commit;
  onSelect(commit: Commit): void;
}

function Lists({ model, commits, rows, selected, onSelect }: ListsProps) {
  const changes = selected.changes;
  const entries = useMemo(() => fileTree(changes), [changes]);
  return (
    <section class="as-Pane" aria-label="Commits and files">
      <div class="as-GroupHead">
        Commits
        <span class="as-Count">{commits.length}</span>
      </div>
      <Commits
        model={model}
        commits={commits}
        rows={rows}
        selected={selected}
        onSelect={onSelect}
      />
      <div class="as-GroupHead">
        <span class="as-Ellipsis">{`Files in ${shortHash(selected)}`}</span>
        <span class="as-Count">{changes.length}</span>
        <span class="as-Spring" />
        <Diffstat {...totals(changes)} />
      </div>
      <Files
        entries={entries}
        selected={shownChange(model, selected)?.path ?? null}
        onSelect={(path) => {
          model.selectedPath.value = path;
        }}
      />
    </section>
  );
}

function Shown({ model, commit, row }: { model: Model; commit: Commit; row: Row | undefined }) {
  const change = shownChange(model, commit);
  if (!change) {
    return (
      <section class="as-Pane as-Inspector" aria-label="Changed file">
        <NoChanges commit={commit} />
      </section>
    );
  }
  return (
    <FileView
      key={`${commit.id} ${change.path}`}
      model={model}
      commit={commit}
      row={row}
      change={change}
    />
  );
}

/** The file that was picked where the commit has it, else its first. */
function shownChange(model: Model, commit: Commit) {
  const changes = commit.changes;
  const picked = changes.find((one) => one.path === model.selectedPath.value);
  return picked ?? firstFile(fileTree(changes))?.change;
}
