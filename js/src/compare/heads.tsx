/** Both runs, each over its side: its name, how it stands, and what it took. */
import { durationOf } from "../history/sorting";
import { Icon } from "../icons/icon";
import type { Comparison, Model, Run } from "../model/model";
import { runStatus } from "../model/status";
import { tokensFigure, tokensOf, tokensTitle } from "../view/figures";
import { useNow } from "../view/hooks";
import { visible } from "../view/visible";
import { count, elapsed, when } from "../view/words";
import type { BothRuns } from "./loading";

interface HeadsProps {
  model: Model;
  ids: Comparison;
  runs: BothRuns;
  onAgain(): void;
}

export function Heads({ model, ids, runs, onAgain }: HeadsProps) {
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
  const name = visible(run.name);
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
          title={visible(detail ? `${words}: ${detail}` : words)}
        >
          <Icon name={icon} small spin={spin ?? false} />
          {words.replace("…", "")}
        </span>
        <span class="as-x-medium">{when(run.started_at)}</span>
        <span>
          <Took run={run} />
        </span>
        <span title={tokensTitle(run)} class="as-x-narrow">
          {`${tokensFigure(tokensOf(run))} tokens`}
        </span>
        <span title={count(rows, "event")}>
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

function Took({ run }: { run: Run }) {
  const now = useNow(run.state !== "idle");
  return <>{elapsed(durationOf(run, now))}</>;
}
