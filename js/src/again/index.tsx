/** Starting a run again, as a fork from a row or from its begin: buttons, and the cell of a notebook; a chunk of its own. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { Model, Run, TimelineRow } from "../model/model";
import type { WorkspaceMode } from "../protocol/types.gen";
import { type CellRunner, findCellRunner } from "../shells/run_cell";
import { Button } from "../view/button";
import { escapeInvisible } from "../view/format";
import { CodeLine } from "../view/notices";
import { ForkDialog } from "./fork_dialog";

export { default as styles } from "../styles/again.css";

const FORKABLE = new Set(["llm_query", "tool_invocation", "custom"]);

export interface ForkHereProps {
  model: Model;
  row: TimelineRow;
}

/** At each row, so that nothing moves from row to row: where a run can't be forked it says why. */
export function ForkHere({ model, row }: ForkHereProps) {
  return (
    <StartButton
      key={row.id}
      model={model}
      run={model.run.value}
      row={row.seq}
      label="Fork here"
      labelClass="as-x-roomy"
      disabledReason={forkDisabledReason(model, row)}
      hint={`Start the agent again: what came before row ${row.seq} is served from this run, and the new run halts there`}
    />
  );
}

function forkDisabledReason(model: Model, row: TimelineRow): string | null {
  if (!row.side || !FORKABLE.has(row.kind))
    return "A run is forked at a query, a tool call or a custom event";
  if (row.pending) return "The run is halted here: edit and step it";
  if (!model.control.value) return "This login may watch, not control";
  const state = model.run.value?.state;
  return state === "idle" || state === "halted" ? null : "Halt the run to fork it";
}

export interface StartButtonProps {
  model: Pick<Model, "startAgain" | "openRun" | "onError">;
  run: Run | null;
  /** Fork it at this row. */
  row?: number;
  hint: string;
  /** Why it is impossible now. */
  disabledReason?: string | null;
  /** Without it the button is an icon; so it is where there is no room. */
  label?: string;
  outline?: boolean;
  /** The class that hides the label where there is no room. */
  labelClass?: string;
  /** Called once another run is shown. */
  onStarted?(): void;
}

/** Starts a run again, and shows what began. */
export function StartButton(props: StartButtonProps) {
  const { model, run, row, hint, label, labelClass = "as-x-pane", onStarted } = props;
  const [isStarting, setStarting] = useState(false);
  const [isChoosing, setChoosing] = useState(false);
  const [cell, setCell] = useState<Omit<CellToRunProps, "onClose"> | null>(null);
  const start = async (workspace?: WorkspaceMode) => {
    if (!run) return;
    setChoosing(false);
    setStarting(true);
    const where = { ...(row !== undefined && { row }), ...(workspace && { workspace }) };
    const begun = await model.startAgain({ run: run.id, ...where });
    setStarting(false);
    if (begun?.run) {
      await model.openRun(begun.run);
      onStarted?.();
    } else if (begun?.cell) {
      const runner = findCellRunner();
      if (runner && !runner.runFresh) runner.run(begun.cell);
      else setCell({ cell: begun.cell, runner });
    } else if (begun) {
      model.onError("cannot_start_again", NOT_YET);
    }
  };
  // Only a fork has files of its row.
  const hasChoice = row !== undefined && Boolean(run?.workspace);
  return (
    <>
      <Button
        outline={props.outline ?? false}
        icon="retry"
        hint={hint}
        name={label ?? hint}
        disabledReason={isStarting ? "The agent is being started" : (props.disabledReason ?? null)}
        onClick={() => (hasChoice ? setChoosing(true) : void start())}
      >
        {label && <span class={labelClass}>{label}</span>}
      </Button>
      {isChoosing && run && row !== undefined && (
        <ForkDialog
          run={run}
          row={row}
          onFork={(workspace) => void start(workspace)}
          onClose={() => setChoosing(false)}
        />
      )}
      {cell !== null && <CellToRun {...cell} onClose={() => setCell(null)} />}
    </>
  );
}

const NOT_YET =
  "The program runs, but its agent has begun no run yet: it is listed once it does. Look at the Core’s log for its output.";

interface CellToRunProps {
  cell: string;
  /** What can run the cell; null: only the person can. */
  runner: CellRunner | null;
  onClose(): void;
}

/** A cell that is to be run: in which kernel, or, where no notebook is shown, its text. */
function CellToRun({ cell, runner, onClose }: CellToRunProps) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => box.current?.focus(), []);
  return (
    <div
      ref={box}
      class="as-CellToRun"
      role="dialog"
      aria-label="A cell to run"
      tabIndex={-1}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        onClose();
      }}
    >
      {runner ? (
        <KernelChoice cell={cell} runner={runner} onClose={onClose} />
      ) : (
        <>
          <p>
            <b>Run this cell in its notebook</b>
            <span class="as-Muted as-Small">
              {" "}
              The names in it are those of the kernel as they are now.
            </span>
          </p>
          <CellText cell={cell} />
        </>
      )}
      <Button outline hint="Close (Esc)" onClick={onClose}>
        Close
      </Button>
    </div>
  );
}

/** The person chooses the kernel; where a restarted one can't be had, the reason and the text are shown. */
function KernelChoice({ cell, runner, onClose }: CellToRunProps & { runner: CellRunner }) {
  const [isRestarting, setRestarting] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const disabledReason = isRestarting ? "The kernel restarts, and the cells above run" : null;
  const runFresh = async () => {
    setRestarting(true);
    const found = await runner.runFresh?.(cell).catch(String);
    setRestarting(false);
    if (found) setProblem(found);
    else onClose();
  };
  return (
    <>
      <p>
        <b>Run the cell again</b>
        <span class="as-Muted as-Small">
          {" "}
          In this kernel it has the names as they are now. A restart ends all that runs in the
          kernel, and its names are gone: the cells above make theirs anew.
        </span>
      </p>
      {problem && <p role="alert">{problem}</p>}
      {problem && <CellText cell={cell} />}
      <Button
        outline
        hint="Run the cell with the kernel’s names as they are now"
        disabledReason={disabledReason}
        onClick={() => {
          runner.run(cell);
          onClose();
        }}
      >
        In this kernel
      </Button>
      <Button
        outline
        hint="Restart the kernel, run the cells above the recorded one, then the cell"
        disabledReason={disabledReason}
        onClick={() => void runFresh()}
      >
        Restart, and run the cells above first
      </Button>
    </>
  );
}

function CellText({ cell }: { cell: string }) {
  return <CodeLine code={escapeInvisible(cell)} copies={cell} label="Copy the cell" />;
}
