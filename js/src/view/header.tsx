/** The header: who waits for whom, which run, and what can be done about it. */
import { useEffect, useRef, useState } from "preact/hooks";
import { Icon } from "../icons/icon";
import { controls, stateIfAttached } from "../model/controls";
import type { Debugger } from "../model/debugger";
import type { Run, TimelineRow } from "../model/model";
import { viewStatus } from "../model/status";
import { doubtStatus } from "../overview/doubt";
import { OverviewItem } from "../overview/header_item";
import type { RunSeams } from "../protocol/types.gen";
import { Button } from "./button";
import { useRovingTabIndex } from "./focus";
import { escapeInvisible, formatCount } from "./format";
import { cx, useOutsidePress, type ViewPlacement } from "./hooks";
import { lazy, withStyles } from "./lazy";
import { RetryNow, StateLine } from "./notices";
import type { ListProps } from "./runs/list";
import type { SeamsListProps } from "./seams";
import { StepButtons } from "./step_buttons";

// ---- Between two halts that are a blink apart the header stays as it is: a quick step doesn't
// flicker.

const BLINK_MS = 120;

interface DisplayedRun {
  run: Run | null;
  pending: readonly TimelineRow[];
}

/** The shown run and what waits in it; after a step the halted one for a moment longer. */
function useDisplayedRun(model: Debugger): DisplayedRun {
  const now = { run: model.run.value, pending: model.pending.value };
  const kept = useRef<DisplayedRun>(now);
  const [over, setOver] = useState(false);
  const blinks = !over && isBriefHalt(kept.current.run, now.run);
  if (!blinks) kept.current = now;
  useEffect(() => {
    setOver(false);
    if (!blinks) return;
    const timer = setTimeout(() => setOver(true), BLINK_MS);
    return () => clearTimeout(timer);
  }, [blinks]);
  return kept.current;
}

function isBriefHalt(before: Run | null, now: Run | null): boolean {
  return (
    before?.state === "halted" &&
    now?.id === before.id &&
    now.state === "step" &&
    now.stopping === before.stopping
  );
}

interface HeaderProps {
  model: Debugger;
  place: ViewPlacement;
}

interface PartProps extends DisplayedRun {
  model: Debugger;
}

export function Header({ model, place }: HeaderProps) {
  const displayed = useDisplayedRun(model);
  return (
    <div class="as-Header">
      <State model={model} {...displayed} />
      <RunPicker model={model} place={place} />
      <span class="as-Spring" />
      <Controls model={model} place={place} {...displayed} />
    </div>
  );
}

function State({ model, run, pending }: PartProps) {
  const isAwaited = model.requestedRun.value !== "";
  const connection = model.connection.value;
  const status = viewStatus(connection, {
    run,
    pending,
    isAwaited,
    opening: model.opening.value !== null,
    breakpoints: model.breakpoints.describe(pending[0]?.stops ?? []),
  });
  const known = run?.ending === "finished" ? doubtStatus(status, run, model.glance.value) : status;
  const shown = { ...known, detail: escapeInvisible(known.detail) };
  return <StateLine status={shown} connection={connection} live="polite" />;
}

function Controls({ model, place, run }: HeaderProps & PartProps) {
  const connection = model.connection.value;
  const controlStates = controls({
    connection,
    run,
    draftError: model.targetDraftError.value,
    asksApproval: model.target.value?.approval ?? false,
  });
  const resumesDrafted = model.resumesWithDrafts.value;
  const waits = model.pending.value.some(({ approval }) => approval);
  const roving = useRovingTabIndex<HTMLDivElement>();
  return (
    <div class="as-Controls" role="toolbar" aria-label="Run control" {...roving}>
      <RetryNow link={model} label="as-x-medium" />
      <StepButtons model={model} place={place} controlStates={controlStates} />
      <Button
        {...(resumesDrafted ? {} : { icon: "play" })}
        name={resumesDrafted ? "Continue with edit" : "Continue"}
        hint={`Continue without halting${resumesDrafted ? ", sending your edit" : ""}${waits ? "; what asks for approval still waits" : ""} (F9)`}
        {...controlStates.resume}
        onClick={() => void model.resume()}
      >
        {resumesDrafted && <Icon name="play" class="as-x-medium" />}
        {resumesDrafted && <Icon name="pencil" class="as-onlyMedium" />}
        <span class="as-x-medium">Continue</span>
        {resumesDrafted && <span class="as-x-medium"> with edit</span>}
      </Button>
      <Button
        icon="pause"
        name="Halt"
        hint="Halt at the next event (F6)"
        {...controlStates.halt}
        onClick={() => void model.halt()}
      >
        <span class="as-x-medium">Halt</span>
      </Button>
      {controlStates.stop && (
        <Button
          icon="stop"
          hint="Stop the agent (Shift+F9)"
          name="Stop"
          {...controlStates.stop}
          onClick={() => void model.stop()}
        >
          <span class="as-x-medium">Stop</span>
        </Button>
      )}
      <span class="as-Rule as-x-medium" />
      <OverviewItem model={model} />
      <SeamsItem run={run} place={place} />
      <More place={place} />
    </div>
  );
}

// ---- Where the run halts without a change to its agent: an item with the number of tools, and under it
// the lists, a chunk of their own.

export const SeamsList = lazy<SeamsListProps>(async () => {
  const { SeamsList, styles } = await import("./seams");
  return withStyles(SeamsList, "seams", styles);
});

/** Nothing where the agent said nothing of it, and where no library of its process has a seam. */
function SeamsItem({ run, place }: { run: Run | null; place: ViewPlacement }) {
  const open = place.overlay.value === "seams";
  const box = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const close = (focus: boolean) => {
    if (place.overlay.peek() === "seams") place.overlay.value = null;
    if (focus) button.current?.focus();
  };
  useOutsidePress(box, open, () => close(false));
  const seams = run?.seams;
  if (!seams || seams.seams.length === 0) return null;
  const failed = seams.seams.some(({ has_failed }) => has_failed);
  const name = seamsName(seams);
  return (
    <div ref={box} class="as-SeamsItem">
      <button
        ref={button}
        type="button"
        class={cx("as-Button as-SeamsButton", failed && "as-mod-bad")}
        title={name}
        aria-label={name}
        aria-haspopup="dialog"
        aria-expanded={open}
        onClick={() => {
          place.overlay.value = open ? null : "seams";
        }}
      >
        <Icon name={failed ? "warn" : "plug"} />
        <span class="as-Count">{seams.tools.length}</span>
      </button>
      {open && <SeamsList seams={seams} onClose={() => close(true)} />}
    </div>
  );
}

/** "Seams: 2 active, 3 tools": what the item says in words. */
function seamsName({ seams, tools }: RunSeams): string {
  const failed = seams.filter(({ has_failed }) => has_failed).length;
  const words = [`${seams.length - failed} active`, failed && `${failed} failed`];
  return `Seams: ${[...words, formatCount(tools.length, "tool")].filter(Boolean).join(", ")}`;
}

/** What is no run control: the page of its own, and the keys. */
function More({ place }: { place: ViewPlacement }) {
  const { pageUrl } = place;
  return (
    <>
      {pageUrl && (
        <a
          class="as-Button as-mod-icon as-mod-push"
          href={pageUrl()}
          target="_blank"
          rel="noopener"
          title="Open on its own page, which also works after a reload while the kernel is busy"
          aria-label="Open on its own page"
        >
          <Icon name="open" />
        </a>
      )}
      <Button
        icon="keys"
        hint="Keys (?)"
        class={cx("as-x-slim", !pageUrl && "as-mod-push")}
        onClick={() => {
          place.overlay.value = "keys";
        }}
      />
    </>
  );
}

// ---- The list of runs under its button, a chunk of its own.

export const RunList = lazy<ListProps>(async () => {
  const { RunList, styles } = await import("./runs/list");
  return withStyles(RunList, "picker", styles);
});

// ---- The run switcher: a button with the run's name, and under it the list of runs.

interface PickerProps {
  model: Debugger;
  place: ViewPlacement;
}

export function RunPicker({ model, place }: PickerProps) {
  const open = place.overlay.value === "runs";
  const box = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const close = (focus: boolean) => {
    if (place.overlay.peek() === "runs") place.overlay.value = null;
    if (focus) button.current?.focus();
  };
  useOutsidePress(box, open, () => close(false));
  if (model.runs.value.length === 0) return null;
  const name = escapeInvisible(model.run.value?.name ?? "All runs");
  const others = othersHalted(model.runs.value, model.run.value);
  return (
    <div ref={box} class="as-RunPicker">
      <button
        ref={button}
        type="button"
        class="as-Button as-Run"
        title={[`${name}: choose a run`, others].filter(Boolean).join("\n")}
        aria-haspopup="dialog"
        aria-expanded={open}
        onClick={() => {
          place.overlay.value = open ? null : "runs";
        }}
      >
        <span class="as-Ellipsis">{name}</span>
        <Icon name="down" small />
        {others && (
          <span class="as-Run-others">
            <span class="as-Hidden">{`, ${others}`}</span>
          </span>
        )}
      </button>
      {open && <RunList model={model} onClose={() => close(true)} />}
    </div>
  );
}

/** Which other runs wait for the person, in words; "" where none does. */
function othersHalted(runs: readonly Run[], shown: Run | null): string {
  const halted = runs.filter(
    (run) => stateIfAttached(run) === "halted" && run.id !== shown?.id,
  ).length;
  if (halted === 0) return "";
  return halted === 1 ? "1 other run is halted" : `${halted} other runs are halted`;
}
