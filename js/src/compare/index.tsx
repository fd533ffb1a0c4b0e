/** Two runs side by side. */

import { useCallback, useMemo, useState } from "preact/hooks";
import { durationOf } from "../history/sorting";
import { Icon } from "../icons/icon";
import type { Comparison, Model, Run } from "../model/model";
import { runStatus } from "../model/status";
import changes from "../styles/changes.css";
import compare from "../styles/compare.css";
import contents from "../styles/contents.css";
import diff from "../styles/diff.css";
import { Button } from "../view/button";
import { formatRunTokens, runTokens, tokensTitle } from "../view/figures";
import { escapeInvisible, formatCount, formatDate, formatElapsed } from "../view/format";
import { useNow } from "../view/hooks";
import { NotFetched } from "../view/notices";
import { Split } from "../view/split";
import {
  align,
  type ComparedContents,
  differenceOf,
  forkLinks,
  idOf,
  nextDifference,
  type Pair,
  type PairDifference,
} from "./align";
import { PairPane, type RunPair, useRuns } from "./pair_pane";
import { PairTable } from "./table";

/** As in the Changes tab and in what is read, and its own. */
export const styles = `${changes}\n${contents}\n${diff}\n${compare}`;

interface CompareProps {
  model: Model;
  ids: Comparison;
}

export function Compare({ model, ids }: CompareProps) {
  const { runs, again } = useRuns(model, ids);
  const onClose = () => {
    model.compare.value = null;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Escape") return;
    onClose();
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <section class="as-Pane" aria-label="Two runs compared" onKeyDown={onKeyDown}>
      {runs.kind === "ready" ? (
        <SideBySide
          key={`${ids.left} ${ids.right}`}
          model={model}
          ids={ids}
          runs={runs.value}
          onAgain={again}
          onClose={onClose}
        />
      ) : (
        <>
          <Bar onClose={onClose} />
          {runs.kind === "loading" ? (
            <p class="as-Note as-Late">Fetching both runs…</p>
          ) : (
            <NotFetched
              title="The runs could not be fetched"
              why={runs.message}
              hint="Ask for both runs again"
              onRetry={runs.retry}
            />
          )}
        </>
      )}
    </section>
  );
}

// ---- The comparison itself: both runs' heads, the table of pairs, and the selected pair's contents.

interface SideBySideProps {
  model: Model;
  ids: Comparison;
  runs: RunPair;
  /** Read both runs again. */
  onAgain(): void;
  onClose(): void;
}

export function SideBySide({ model, ids, runs, onAgain, onClose }: SideBySideProps) {
  const pairs = useMemo(() => align(runs.left.rows, runs.right.rows), [runs]);
  const { served } = useMemo(() => forkLinks(runs.left.rows, runs.right.rows), [runs]);
  const [compared, setCompared] = useState<ComparedContents>(new Map());
  const [only, setOnly] = useState(false);
  const differences = useMemo(
    () => pairs.map((pair) => differenceOf(pair, compared, served)),
    [pairs, compared, served],
  );
  const [selected, setSelected] = useState(() => firstToRead(pairs, differences));
  const at = pairs.findIndex((pair) => idOf(pair) === selected);
  const differenceCount = useMemo(
    () => differences.filter((each) => each !== "same").length,
    [differences],
  );

  const onDifference = useCallback((id: string, difference: "same" | "changed") => {
    setCompared((known) =>
      known.get(id) === difference ? known : new Map(known).set(id, difference),
    );
  }, []);
  const step = (by: 1 | -1) => {
    const pair = pairs[nextDifference(differences, at, by) ?? -1];
    if (pair) setSelected(idOf(pair));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const by = STEPS[event.shiftKey ? `Shift+${event.key}` : event.key];
    if (!by || event.ctrlKey || event.metaKey || event.altKey) return;
    step(by);
    event.preventDefault();
    event.stopPropagation();
  };
  const pair = pairs[at];
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: keys bubble up to here from what has the focus
    <div class="as-Compare" onKeyDown={onKeyDown}>
      <Bar
        onClose={onClose}
        differences={differenceCount}
        only={only}
        onOnly={setOnly}
        before={nextDifference(differences, at, -1) !== null}
        after={nextDifference(differences, at, 1) !== null}
        onStep={step}
      />
      <Split name="compare" label="Resize events and contents" class="as-mod-compare" narrow={900}>
        <section class="as-Pane" aria-label="Events of both">
          <RunHeadings model={model} ids={ids} runs={runs} onAgain={onAgain} />
          <PairTable
            pairs={pairs}
            differences={differences}
            only={only}
            selected={selected}
            onSelect={setSelected}
          />
        </section>
        <section class="as-Pane as-Inspector" aria-label="Contents of both">
          {pair && (
            <PairPane
              key={selected}
              model={model}
              ids={ids}
              pair={pair}
              onDifference={onDifference}
            />
          )}
        </section>
      </Split>
    </div>
  );
}

/** Where the runs part, else where they begin. */
function firstToRead(pairs: readonly Pair[], differences: readonly PairDifference[]): string {
  const pair = pairs[nextDifference(differences, -1, 1) ?? 0];
  return pair ? idOf(pair) : "";
}

const STEPS: Record<string, 1 | -1> = { j: 1, k: -1, F7: 1, "Shift+F7": -1 };

// ---- Above a comparison: back to the runs, how many differences there are, and the way between them.

interface BarProps {
  onClose(): void;
  /** Absent while nothing can be compared yet. */
  differences?: number;
  /** Whether only differences are shown. */
  only?: boolean;
  onOnly?(only: boolean): void;
  /** Whether there are differences before and after the selected pair. */
  before?: boolean;
  after?: boolean;
  onStep?(by: 1 | -1): void;
}

export function Bar({ onClose, differences, only = false, onOnly, ...steps }: BarProps) {
  const { before, after, onStep } = steps;
  const none = differences === 0;
  return (
    <div class="as-PaneBar as-CompareBar">
      <Button icon="left" name="Back to the runs" hint="Back to the runs (Esc)" onClick={onClose}>
        Runs
      </Button>
      <span class="as-Spring" />
      {differences !== undefined && (
        <>
          <span class="as-Muted as-Small" role="status">
            {none ? "No difference found" : formatCount(differences, "difference")}
          </span>
          <Button
            icon="up"
            hint="Previous difference (k, Shift+F7)"
            disabledReason={before ? null : "No difference before this one"}
            onClick={() => onStep?.(-1)}
          />
          <Button
            icon="down"
            hint="Next difference (j, F7)"
            disabledReason={after ? null : "No difference after this one"}
            onClick={() => onStep?.(1)}
          />
          <Button
            icon="filter"
            name="Only differences"
            hint={only ? "Show all events again" : "Show only what differs"}
            pressed={only}
            disabledReason={none && !only ? "There is no difference to show" : null}
            onClick={() => onOnly?.(!only)}
          >
            <span class="as-x-narrow">Only differences</span>
          </Button>
        </>
      )}
    </div>
  );
}

// ---- Both runs, each over its side: its name, how it stands, and what it took.

interface RunHeadingsProps {
  model: Model;
  ids: Comparison;
  runs: RunPair;
  onAgain(): void;
}

export function RunHeadings({ model, ids, runs, onAgain }: RunHeadingsProps) {
  const known = model.runs.value;
  const sides = [
    { sign: "−", id: ids.left, read: runs.left },
    { sign: "+", id: ids.right, read: runs.right },
  ];
  return (
    <div class="as-CompareHeads">
      {sides.map(({ sign, id, read }) => (
        <Head
          key={sign}
          model={model}
          sign={sign}
          run={known.find((run) => run.id === id) ?? read.run}
          rows={read.rows.length}
          onAgain={onAgain}
        />
      ))}
    </div>
  );
}

interface HeadProps {
  model: Model;
  sign: string;
  /** As it stands now. */
  run: Run;
  /** How many of its rows are compared. */
  rows: number;
  onAgain(): void;
}

function Head({ model, sign, run, rows, onAgain }: HeadProps) {
  const { words, detail, icon, tone, spin } = runStatus(run);
  const name = escapeInvisible(run.name);
  const newer = run.rows - rows;
  return (
    <div>
      <span class="as-CompareName">
        <span class={`as-Diff-sign ${sign === "+" ? "as-Good" : "as-Bad"}`}>{sign}</span>
        <button
          type="button"
          class="as-Link as-Ellipsis"
          title={`${name}: show its timeline`}
          onClick={() => {
            model.tab.value = "timeline";
            void model.openRun(run.id);
          }}
        >
          {name}
        </button>
      </span>
      <span class="as-CompareFacts as-Muted as-Small">
        <span
          class={`as-State as-mod-${tone}`}
          title={escapeInvisible(detail ? `${words}: ${detail}` : words)}
        >
          <Icon name={icon} small spin={spin ?? false} />
          {words.replace("…", "")}
        </span>
        <span class="as-x-medium">{formatDate(run.started_at)}</span>
        <span>
          <RunDuration run={run} />
        </span>
        <span title={tokensTitle(run)} class="as-x-narrow">
          {`${formatRunTokens(runTokens(run))} tokens`}
        </span>
        <span title={formatCount(rows, "event")}>
          {rows.toLocaleString("en-US")}
          <span class="as-x-narrow">{rows === 1 ? " event" : " events"}</span>
        </span>
        {newer > 0 && (
          <button type="button" class="as-Link" title="Read both runs again" onClick={onAgain}>
            {`${newer.toLocaleString("en-US")} newer`}
          </button>
        )}
      </span>
    </div>
  );
}

function RunDuration({ run }: { run: Run }) {
  const now = useNow(run.state !== "idle");
  return <>{formatElapsed(durationOf(run, now))}</>;
}
