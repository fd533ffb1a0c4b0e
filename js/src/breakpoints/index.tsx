/** Breakpoints: where runs halt by themselves, where they did, and the bar that makes one. */

import { useRef, useState } from "preact/hooks";
import { readOnlyReason } from "../model/controls";
import type { Debugger } from "../model/debugger";
import type { Problem } from "../model/model";
import breakpoints from "../styles/breakpoints.css";
import editRules from "../styles/edit_rules.css";
import { Button } from "../view/button";
import { escapeInvisible } from "../view/format";
import { Empty, NoticeBar } from "../view/notices";
import { useNarrow } from "../view/split";
import { Bar } from "./bar";
import { type BreakpointDraft, newDraft } from "./draft";
import { EditRulesSection } from "./edit_rules";
import { Table } from "./table";

export const styles = `${breakpoints}\n${editRules}`;

export function BreakpointsView({ model }: { model: Debugger }) {
  const pane = useRef<HTMLElement>(null);
  const narrow = useNarrow(pane);
  const [problem, setProblem] = useState<Problem | null>(null);
  /** The row that is to take the focus: a new object each time. */
  const [focusRequest, requestFocus] = useState<{ breakpoint: string } | null>(null);
  return (
    <section ref={pane} class="as-Pane as-Breakpoints" aria-label="All breakpoints">
      <Head model={model} onProblem={setProblem} />
      {problem && <Refused problem={problem} onDismiss={() => setProblem(null)} />}
      {model.breakpoints.all.value.length > 0 ? (
        <Table model={model} narrow={narrow} focusRequest={focusRequest} onProblem={setProblem} />
      ) : (
        <NoBreakpoints model={model} />
      )}
      <Bar model={model} onLeave={(breakpoint) => requestFocus({ breakpoint })} />
      <EditRulesSection model={model} onProblem={setProblem} />
    </section>
  );
}

interface HeadProps {
  model: Debugger;
  onProblem(problem: Problem | null): void;
}

function Head({ model, onProblem }: HeadProps) {
  const active = model.breakpoints.all.value.filter(({ enabled }) => enabled);
  const disableAll = async () => {
    for (const breakpoint of active) {
      const problem = await model.breakpoints.set({ ...breakpoint, enabled: false });
      onProblem(problem);
      if (problem) return;
    }
  };
  return (
    <div class="as-PaneBar as-BreakpointsBar">
      <span class="as-Ellipsis">
        Continue halts at breakpoints.{" "}
        <span class="as-Muted as-x-wide">
          The agent’s process evaluates them: Continue stays fast.
        </span>
      </span>
      <span class="as-Spring" />
      <Button
        hint="Disable every breakpoint; the list stays"
        disabledReason={
          readOnlyReason(model) ?? (active.length === 0 ? "No breakpoint is enabled" : null)
        }
        onClick={() => void disableAll()}
      >
        Disable all
      </Button>
    </div>
  );
}

function Refused({ problem, onDismiss }: { problem: Problem; onDismiss(): void }) {
  return (
    <NoticeBar class="as-BreakpointsNews" onDismiss={onDismiss}>
      <span title={problem.code}>{escapeInvisible(problem.message)}</span>
    </NoticeBar>
  );
}

// ---- What the Breakpoints tab says where there is none: what they are for, and four to begin with.

const EXAMPLES: { label: string; hint: string; fields: Partial<BreakpointDraft> }[] = [
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

export function NoBreakpoints({ model }: { model: Debugger }) {
  const examples = EXAMPLES.map(({ label, hint, fields }) => (
    <Button
      key={label}
      outline
      hint={hint}
      onClick={() => {
        model.breakpoints.draft.value = newDraft(fields);
      }}
    >
      {label}
    </Button>
  ));
  return (
    <Empty class="as-Scroll" title="No breakpoints yet" actions={examples}>
      <p>
        A breakpoint halts a run where its condition holds, so that you can press Continue and miss
        nothing. Describe one below: a dry run shows where it would have hit in this run and in past
        runs. Or begin with one of these:
      </p>
    </Empty>
  );
}
