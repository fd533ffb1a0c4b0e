/** Stops: where runs halt by themselves, where they did, and the bar that makes one. */

import { useRef, useState } from "preact/hooks";
import { barred } from "../model/controls";
import type { Debugger } from "../model/debugger";
import type { Problem } from "../model/model";
import { Button } from "../view/button";
import { useNarrow } from "../view/split";
import { Empty, News } from "../view/told";
import { visible } from "../view/words";
import { Bar } from "./bar";
import { freshDraft, type StopDraft } from "./draft";
import { Table } from "./table";

export { default as styles } from "../styles/stops.css";

export function StopsView({ model }: { model: Debugger }) {
  const pane = useRef<HTMLElement>(null);
  const narrow = useNarrow(pane);
  const [problem, setProblem] = useState<Problem | null>(null);
  /** The row that is to take the focus: a new object each time. */
  const [summoned, summon] = useState<{ stop: string } | null>(null);
  return (
    <section ref={pane} class="as-Pane as-Stops" aria-label="All stops">
      <Head model={model} onProblem={setProblem} />
      {problem && <Refused problem={problem} onDismiss={() => setProblem(null)} />}
      {model.stops.all.value.length > 0 ? (
        <Table model={model} narrow={narrow} summoned={summoned} onProblem={setProblem} />
      ) : (
        <NoStops model={model} />
      )}
      <Bar model={model} onLeave={(stop) => summon({ stop })} />
    </section>
  );
}

interface HeadProps {
  model: Debugger;
  onProblem(problem: Problem | null): void;
}

function Head({ model, onProblem }: HeadProps) {
  const on = model.stops.all.value.filter(({ enabled }) => enabled);
  const allOff = async () => {
    for (const stop of on) {
      const problem = await model.stops.set({ ...stop, enabled: false });
      onProblem(problem);
      if (problem) return;
    }
  };
  return (
    <div class="as-PaneBar as-StopsBar">
      <span class="as-Ellipsis">
        Continue halts where a stop hits.{" "}
        <span class="as-Muted as-x-wide">
          Stops are checked where the agent runs: going on stays fast.
        </span>
      </span>
      <span class="as-Spring" />
      <Button
        hint="Switch every stop off; the list stays"
        held={barred(model) ?? (on.length === 0 ? "No stop is on" : null)}
        onClick={() => void allOff()}
      >
        All off
      </Button>
    </div>
  );
}

function Refused({ problem, onDismiss }: { problem: Problem; onDismiss(): void }) {
  return (
    <News class="as-StopsNews" onDismiss={onDismiss}>
      <span title={problem.code}>{visible(problem.message)}</span>
    </News>
  );
}

// ---- What the Stops tab says where there is none: what they are for, and four to begin with.

const EXAMPLES: { label: string; hint: string; fields: Partial<StopDraft> }[] = [
  {
    label: "A tool fails",
    hint: "Halt after any tool that ended with an exception",
    fields: { side: "end", on_error: true },
  },
  {
    label: "Going in circles",
    hint: "Halt where the same tool is called with the same arguments for the third time in a row",
    fields: { watch: "repeated", amount: "3" },
  },
  {
    label: "The same call again",
    hint: "Halt where the same tool is called with the same arguments for the third time in the run, whatever was called between",
    fields: { watch: "recurring", amount: "3" },
  },
  {
    label: "Over budget",
    hint: "Halt once the run has used more than 50,000 tokens",
    fields: { kind: null, side: null, watch: "tokens", amount: "50,000" },
  },
];

export function NoStops({ model }: { model: Debugger }) {
  const examples = EXAMPLES.map(({ label, hint, fields }) => (
    <Button
      key={label}
      outline
      hint={hint}
      onClick={() => {
        model.stops.draft.value = freshDraft(fields);
      }}
    >
      {label}
    </Button>
  ));
  return (
    <Empty class="as-Scroll" title="No stop is set yet" actions={examples}>
      <p>
        A stop says what is worth halting at, so that you can press Continue and miss nothing.
        Describe one below: before it is set you see where it would have hit in this run and in past
        ones. Or begin with one of these:
      </p>
    </Empty>
  );
}
