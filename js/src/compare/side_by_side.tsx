/** The comparison itself: both runs' heads, the table of pairs, and the selected pair's contents. */
import { useCallback, useMemo, useState } from "preact/hooks";
import type { Comparison, Model } from "../model/model";
import { Split } from "../view/split";
import { align, type Pair } from "./align";
import { Bar } from "./bar";
import { Heads } from "./heads";
import type { BothRuns } from "./loading";
import { PairPane } from "./pair_pane";
import { type Compared, idOf, nextDifference, type Verdict, verdictOf } from "./pairs";
import { PairTable } from "./table";

interface SideBySideProps {
  model: Model;
  ids: Comparison;
  runs: BothRuns;
  /** Read both runs again. */
  onAgain(): void;
  onClose(): void;
}

export function SideBySide({ model, ids, runs, onAgain, onClose }: SideBySideProps) {
  const pairs = useMemo(() => align(runs.left.rows, runs.right.rows), [runs]);
  const [compared, setCompared] = useState<Compared>(new Map());
  const [only, setOnly] = useState(false);
  const verdicts = useMemo(() => pairs.map((pair) => verdictOf(pair, compared)), [pairs, compared]);
  const [selected, setSelected] = useState(() => firstToRead(pairs, verdicts));
  const at = pairs.findIndex((pair) => idOf(pair) === selected);
  const differences = useMemo(() => verdicts.filter((each) => each !== "same").length, [verdicts]);

  const onVerdict = useCallback((id: string, verdict: "same" | "changed") => {
    setCompared((known) => (known.get(id) === verdict ? known : new Map(known).set(id, verdict)));
  }, []);
  const step = (by: 1 | -1) => {
    const pair = pairs[nextDifference(verdicts, at, by) ?? -1];
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
        differences={differences}
        only={only}
        onOnly={setOnly}
        before={nextDifference(verdicts, at, -1) !== null}
        after={nextDifference(verdicts, at, 1) !== null}
        onStep={step}
      />
      <Split name="compare" label="Resize events and contents" class="as-mod-compare" narrow={900}>
        <section class="as-Pane" aria-label="Events of both">
          <Heads model={model} ids={ids} runs={runs} onAgain={onAgain} />
          <PairTable
            pairs={pairs}
            verdicts={verdicts}
            only={only}
            selected={selected}
            onSelect={setSelected}
          />
        </section>
        <section class="as-Pane as-Inspector" aria-label="Contents of both">
          {pair && (
            <PairPane key={selected} model={model} ids={ids} pair={pair} onVerdict={onVerdict} />
          )}
        </section>
      </Split>
    </div>
  );
}

/** Where the runs part, else where they begin. */
function firstToRead(pairs: readonly Pair[], verdicts: readonly Verdict[]): string {
  const pair = pairs[nextDifference(verdicts, -1, 1) ?? 0];
  return pair ? idOf(pair) : "";
}

const STEPS: Record<string, 1 | -1> = { j: 1, k: -1, F7: 1, "Shift+F7": -1 };
