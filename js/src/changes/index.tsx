/** What the agent changed in its workspace: commits, their files, and each file before and after. */
import { computed } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { displayedCommitOf, groupCommits, titleOf } from "../model/commits";
import type { Commit, Model, TimelineRow } from "../model/model";
import changes from "../styles/changes.css";
import diff from "../styles/diff.css";
import { escapeInvisible } from "../view/format";
import { CodeLine, Empty } from "../view/notices";
import { Split } from "../view/split";
import { Diffstat } from "./change_badges";
import { type CommitLine, Commits, commitLines, seqOf, shortHash } from "./commits";
import { type FileLink, FileView } from "./file_view";
import { Files } from "./files";
import { fileTree, firstFile, totals } from "./tree";

export { FileView } from "./file_view";
export const styles = `${changes}\n${diff}`;

export function Changes({ model }: { model: Model }) {
  const listed = model.listedCommits.value;
  const all = model.allCommits.value;
  const entries = useMemo(() => groupCommits(listed, all), [listed, all]);
  // Not at each new row, of which there may be many a second: only where the end of a commit's event comes.
  const ends = useEnds(model, listed);
  const lines = useMemo(() => commitLines(entries, model.rows.peek()), [entries, ends]);
  const wanted = model.selectedCommit.value;
  const shown = wanted === null ? undefined : displayedCommitOf(entries, wanted);
  // One that stands further back can be read before the list has come to it.
  const apart = shown ? undefined : model.commits.value.find(({ id }) => id === wanted);
  const selected = shown ?? apart ?? newest(lines);
  const row = lines.find(({ commit }) => commit === selected)?.row;

  // What is read stays when a newer commit comes: the first choice is a choice, where there is something to read.
  useEffect(() => {
    if (selected && selected.changes.length > 0 && model.selectedCommit.peek() === null)
      model.selectedCommit.value = selected.id;
  }, [selected]);

  const looking = !all && (wanted === null ? !selected : !shown);
  useEffect(() => {
    if (looking) void model.moreCommits();
  }, [looking, entries]);

  if (!selected && looking) return <div />;
  if (!selected) return model.run.value?.workspace ? <NoCommits model={model} /> : <NoWorkspace />;
  return (
    <Split name="changes" label="Resize files and diff" class="as-mod-changes">
      <Lists
        model={model}
        lines={lines}
        selected={selected}
        onSelect={(commit) => {
          model.selectedCommit.value = commit.id;
        }}
      />
      <Shown model={model} commit={selected} row={row} />
    </Split>
  );
}

/** How many of the events that had changed something before they ended have ended since. */
function useEnds(model: Model, commits: readonly Commit[]): number {
  const ends = useMemo(() => {
    const open = new Set(commits.map(({ event }) => event));
    for (const { event, side } of model.rows.peek()) if (side === "end") open.delete(event);
    const closes = ({ event, side }: TimelineRow) => side === "end" && open.has(event);
    return computed(() => model.rows.value.filter(closes).length);
  }, [model, commits]);
  return ends.value;
}

/** The newest commit with something to see. */
function newest(lines: readonly CommitLine[]): Commit | undefined {
  return (lines.find(({ commit }) => commit.changes.length > 0) ?? lines[0])?.commit;
}

interface ListsProps {
  model: Model;
  lines: readonly CommitLine[];
  selected: Commit;
  onSelect(commit: Commit): void;
}

function Lists({ model, lines, selected, onSelect }: ListsProps) {
  const changes = selected.changes;
  const entries = useMemo(() => fileTree(changes), [changes]);
  return (
    <section class="as-Pane" aria-label="Commits and files">
      <div class="as-GroupHead">
        Commits
        <span class="as-Count">{model.commitCount.value.toLocaleString("en-US")}</span>
      </div>
      <Commits model={model} lines={lines} selected={selected} onSelect={onSelect} />
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

function Shown({
  model,
  commit,
  row,
}: {
  model: Model;
  commit: Commit;
  row: TimelineRow | undefined;
}) {
  const change = shownChange(model, commit);
  return (
    <section class="as-Pane as-Inspector" aria-label="Changed file">
      {change ? (
        <FileView
          key={`${commit.id} ${change.path}`}
          model={model}
          commit={commit}
          change={change}
          link={linkTo(model, { commit, row })}
        />
      ) : (
        <NoChanges commit={commit} />
      )}
    </section>
  );
}

function linkTo(model: Model, line: Pick<CommitLine, "commit" | "row">): FileLink | null {
  const seq = seqOf(line);
  if (seq === 0) return null;
  return {
    prefix: "made by ",
    text: `event ${seq}`,
    hint: `Go to event ${seq} in the timeline`,
    onClick: () => model.reveal(line.row?.id ?? seq),
  };
}

/** The file that was picked where the commit has it, else its first. */
function shownChange(model: Model, commit: Commit) {
  const changes = commit.changes;
  const picked = changes.find((one) => one.path === model.selectedPath.value);
  return picked ?? firstFile(fileTree(changes))?.change;
}

// ---- What the Changes tab says where there is nothing to show, and the line of code that changes it.

export function NoWorkspace() {
  return (
    <Empty title="No workspace is watched">
      <p>
        Name the folder that the agent works on, and what it changes there is kept here, commit by
        commit.
      </p>
      <CodeLine code="%%step --workspace path/to/folder" label="Copy this line" />
      <p>Or in the agent's own code:</p>
      <CodeLine
        code='AgentStepper("my-agent", agent_workspace_path="path/to/folder")'
        label="Copy this line"
      />
    </Empty>
  );
}

export function NoCommits({ model }: { model: Model }) {
  return (
    <Empty title="No commit yet">
      <p>
        {"The agent works on "}
        <code class="as-Code">{model.run.value?.workspace}</code>
        {". What its steps change there is shown here. This line puts a name to it:"}
      </p>
      <CodeLine code='dbg.commit_agent_changes("what was done")' label="Copy this line" />
    </Empty>
  );
}

export function NoChanges({ commit }: { commit: Commit }) {
  return (
    <Empty title={escapeInvisible(titleOf(commit))}>
      <p>
        {escapeInvisible(commit.description) ||
          "This commit changes no file: it is the state that later commits are compared with."}
      </p>
    </Empty>
  );
}
