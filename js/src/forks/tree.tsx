/** The tree of runs: where each was forked, by which edit, and how it came out. */
import { batch } from "@preact/signals";
import { Icon } from "../icons/icon";
import type { Debugger } from "../model/debugger";
import type { Run } from "../model/model";
import { runStatus } from "../model/status";
import { OUTCOME_WORDS } from "../overview/outcome";
import type { ForkNode } from "../protocol/types.gen";
import { Button } from "../view/button";
import { formatCost, tokensTitle } from "../view/figures";
import { escapeInvisible, formatCount, formatDate } from "../view/format";
import { StateMark } from "../view/notices";
import { originWords } from "../view/runs/origin";
import type { ForkSectionProps } from ".";

export function TreeSection({ model, tree }: ForkSectionProps) {
  const { nodes, more } = tree;
  const depths = depthsOf(nodes);
  return (
    <section class="as-ForkSection" aria-label="Runs">
      {nodes.length === 1 && (
        <p class="as-Muted as-Small">
          No other run was started from this one. Select an event in the timeline, and press Fork
          here.
        </p>
      )}
      <ul class="as-ForkTree">
        {nodes.map((node) => (
          <TreeNode
            key={node.run.id}
            model={model}
            node={node}
            run={model.runs.value.find(({ id }) => id === node.run.id) ?? node.run}
            depth={depths.get(node.run.id) ?? 0}
          />
        ))}
      </ul>
      {more > 0 && (
        <p class="as-Muted as-Small">{`and ${formatCount(more, "more run")}: see Runs`}</p>
      )}
    </section>
  );
}

/** Deeper ones stand no further to the right. */
const DEEPEST = 6;

/** How many runs each stands below; a parent comes before what is forked from it. */
export function depthsOf(nodes: readonly ForkNode[]): Map<string, number> {
  const depths = new Map<string, number>();
  for (const { run } of nodes) {
    const above = depths.get(run.forked_from?.run ?? "");
    depths.set(run.id, above === undefined ? 0 : Math.min(above + 1, DEEPEST));
  }
  return depths;
}

interface TreeNodeProps {
  model: Debugger;
  node: ForkNode;
  /** As it stands now. */
  run: Run;
  depth: number;
}

function TreeNode({ model, node, run, depth }: TreeNodeProps) {
  const name = escapeInvisible(run.name);
  const current = model.run.value?.id === run.id;
  return (
    <li class="as-ForkNode" style={{ "--as-depth": depth }} aria-current={current}>
      {depth > 0 && <span class="as-ForkNode-branch" />}
      <div class="as-ForkNode-head">
        <button
          type="button"
          class="as-Link as-ForkNode-name as-Ellipsis"
          title={`${name}: show its timeline`}
          onClick={() => show(model, run.id)}
        >
          {name}
        </button>
        {current && <span class="as-Tag as-Small">shown</span>}
        <span class="as-Spring" />
        <CompareButton model={model} run={run} name={name} />
      </div>
      <ForkPlace node={node} />
      <Facts node={node} run={run} />
    </li>
  );
}

function show(model: Debugger, id: string): void {
  model.tab.value = "timeline";
  void model.openRun(id);
}

function CompareButton({ model, run, name }: { model: Debugger; run: Run; name: string }) {
  const parent = run.forked_from?.run;
  if (!parent) return null;
  const isHere = model.runs.value.some(({ id }) => id === parent);
  return (
    <Button
      icon="compare"
      hint="Compare with the run it was started from, from the first difference on"
      name={`Compare ${name} with its parent`}
      disabledReason={isHere ? null : "The run it was started from isn’t here"}
      onClick={() =>
        batch(() => {
          model.compare.value = { left: parent, right: run.id };
          model.tab.value = "runs";
        })
      }
    >
      <span class="as-x-narrow">Compare</span>
    </Button>
  );
}

/** "tool result look_up, row 3", and what a person changed there. */
function ForkPlace({ node }: { node: ForkNode }) {
  const { run, point, edit } = node;
  const origin = originWords(run);
  if (!origin) return null;
  const row = run.forked_from?.row;
  const place = row && point ? `${point}, row ${row}` : origin;
  return (
    <p class="as-ForkNode-place as-Small">
      <span>{escapeInvisible(place)}</span>
      {edit && (
        <span class="as-ForkNode-edit">
          <Icon name="pencil" small />
          {escapeInvisible(edit)}
        </span>
      )}
    </p>
  );
}

const GAVE_UP = { words: "", icon: "warn", tone: "you" } as const;

function Facts({ node, run }: { node: ForkNode; run: Run }) {
  const { outcome, reason, changed_files: files } = node;
  const status = runStatus(run);
  const ended = run.state === "idle";
  const mark = ended && outcome === "gave_up" ? GAVE_UP : status;
  const cost = formatCost(run.usage);
  return (
    <p class="as-ForkNode-facts as-Muted as-Small">
      <StateMark status={mark} />
      <span title={escapeInvisible(reason)}>
        {ended ? OUTCOME_WORDS[outcome] : status.words.replace("…", "")}
      </span>
      {cost && <span title={tokensTitle(run)}>{cost}</span>}
      <span>{files === 0 ? "no file changed" : `${formatCount(files, "file")} changed`}</span>
      <span>{formatCount(run.rows, "event")}</span>
      <span>{formatDate(run.started_at)}</span>
    </p>
  );
}
