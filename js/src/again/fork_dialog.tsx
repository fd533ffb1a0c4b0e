/** Asks which folder a fork works on, where the recorded run had a workspace. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { Run } from "../model/model";
import type { WorkspaceMode } from "../protocol/types.gen";
import { Button } from "../view/button";
import { escapeInvisible } from "../view/format";

interface ForkDialogProps {
  run: Run;
  row: number;
  onFork(workspace: WorkspaceMode): void;
  onClose(): void;
}

/** A fresh folder is chosen until the person chooses another; Esc closes. */
export function ForkDialog({ run, row, onFork, onClose }: ForkDialogProps) {
  const [mode, setMode] = useState<WorkspaceMode>("fresh");
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => box.current?.querySelector<HTMLElement>("input")?.focus(), []);
  const folder = escapeInvisible(run.workspace ?? "");
  const works = run.state !== "idle";
  return (
    <div
      ref={box}
      class="as-CellToRun as-ForkDialog"
      role="dialog"
      aria-label="The fork’s folder"
      onKeyDown={(event) => {
        if (event.key === "Escape") onClose();
        else if (event.key === "Enter" && event.target instanceof HTMLInputElement) onFork(mode);
        else return;
        event.stopPropagation();
        event.preventDefault();
      }}
    >
      <b>{`Which folder does the fork at row ${row} work on?`}</b>
      <Choice mode="fresh" chosen={mode} onChoose={setMode} label="A fresh folder">
        {`It gets a copy of the files as they were at row ${row}. Nothing changes in ${folder}.`}
      </Choice>
      <Choice
        mode="in_place"
        chosen={mode}
        onChoose={setMode}
        label="In place"
        disabledReason={works ? "The run still works there: let it end first." : null}
      >
        {`The files in ${folder} become what they were at row ${row}: files are replaced and deleted, and the agent goes on with them. What is there now is stored before; Put back in the tab Forks brings it back.`}
      </Choice>
      <span class="as-ForkDialog-acts">
        <Button primary hint="Start the agent again (Enter)" onClick={() => onFork(mode)}>
          {mode === "in_place" ? "Fork in place" : "Fork"}
        </Button>
        <Button outline hint="Don’t fork (Esc)" onClick={onClose}>
          Cancel
        </Button>
      </span>
    </div>
  );
}

interface ChoiceProps {
  mode: WorkspaceMode;
  chosen: WorkspaceMode;
  label: string;
  /** What happens to files. */
  children: string;
  disabledReason?: string | null;
  onChoose(mode: WorkspaceMode): void;
}

function Choice({ mode, chosen, label, children, disabledReason, onChoose }: ChoiceProps) {
  return (
    <label class="as-ForkDialog-choice">
      <input
        type="radio"
        name="as-fork-folder"
        checked={mode === chosen}
        disabled={Boolean(disabledReason)}
        onChange={() => onChoose(mode)}
      />
      <span>
        {label}
        <span class="as-Muted as-Small">{` ${disabledReason ?? children}`}</span>
      </span>
    </label>
  );
}
