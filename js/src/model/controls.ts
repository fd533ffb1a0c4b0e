/** What can be told to a run, and when. */

import { effect, type ReadonlySignal } from "@preact/signals";
import type { RunState } from "../protocol/types.gen";
import type { Debugger } from "./debugger";
import type { Connection, Run, TimelineRow } from "./model";
import { INTO, type StepGoal } from "./steps";

export interface Control {
  /** Why it is impossible now; null where it is possible. */
  disabledReason: string | null;
  /** Whether it leads to the approval that holds it instead. */
  focusesCause?: boolean;
  /** The one filled button. */
  primary?: boolean;
}

export interface Controls {
  /** Into, over and out. */
  step: Control;
  /** To the next halt point of some kind: also of a run that isn't halted. */
  to: Control;
  resume: Control;
  halt: Control;
  /** Null where the agent can't be stopped from here at all. */
  stop: Control | null;
}

interface ControlsInput {
  connection: Connection;
  run: Run | null;
  /** What is wrong with the edit that Step would send. */
  draftError: string | null;
  /** Whether what Step would answer asks for an approval. */
  asksApproval: boolean;
}

export function controls({ connection, run, draftError, asksApproval }: ControlsInput): Controls {
  const shut = disconnectedReason(connection, run);
  const stop = !run || run.can_stop;
  if (shut !== null || !run) {
    const disabled = { disabledReason: shut };
    // An ended run has no next step: nothing is filled.
    return {
      step: disabled,
      to: disabled,
      resume: disabled,
      halt: disabled,
      stop: stop ? disabled : null,
    };
  }
  return {
    ...runningControls(run, draftError, asksApproval),
    stop: stop ? stopControl(run) : null,
  };
}

const ASKS_APPROVAL = "This call asks for approval: approve or deny it";

/** Whether a control does anything now. */
export const isUsable = (control: Control | null | undefined): boolean =>
  control != null && (control.disabledReason === null || control.focusesCause === true);

function runningControls(
  run: Run,
  draftError: string | null,
  asksApproval: boolean,
): Omit<Controls, "stop"> {
  if (stateIfAttached(run) === "halted") {
    const disabledReason = draftError === null ? null : draftProblemText(draftError);
    // In CONTINUE nothing waits but what asks for an approval.
    const goesOn = run.mode === "continue";
    return {
      to: asksApproval ? { disabledReason: ASKS_APPROVAL } : { disabledReason },
      step: asksApproval
        ? { disabledReason: ASKS_APPROVAL, focusesCause: true }
        : { disabledReason, primary: true },
      resume: {
        disabledReason: goesOn
          ? "The agent continues when its question is answered"
          : disabledReason,
      },
      halt: { disabledReason: goesOn ? null : "Already halted" },
    };
  }
  if (run.mode === "continue") {
    const disabledReason = "The agent isn’t halted";
    return {
      step: { disabledReason },
      to: { disabledReason: null },
      resume: { disabledReason: "Already running on" },
      halt: { disabledReason: null, primary: true },
    };
  }
  const away = run.state === "detached";
  const isFar = run.step !== undefined;
  return {
    step: { disabledReason: away ? "The agent is away" : NOT_HALTED_YET, primary: !away && !isFar },
    to: { disabledReason: null },
    resume: { disabledReason: null },
    halt: isFar
      ? { disabledReason: null, primary: true }
      : { disabledReason: "The agent halts at its next event anyway" },
  };
}

/** How a draft's problem begins that isn't its JSON's. */
export const SCHEMA_MISFIT = "The edit doesn’t fit the tool’s schema: ";

/** Why a draft can't be sent, in a sentence. */
export const draftProblemText = (why: string): string =>
  why.startsWith(SCHEMA_MISFIT) ? why : `The edit isn’t valid JSON: ${why}`;

const NOT_HALTED_YET = "The agent hasn’t reached its next event yet";

/** A run's state as it would be if its agent were here: the Core takes the same commands meanwhile. */
export function stateIfAttached({ state, pending, mode }: Run): Exclude<RunState, "detached"> {
  if (state !== "detached") return state;
  return pending.length > 0 ? "halted" : mode;
}

/** Whether a run is halted, or steps and halts soon: not one that goes on. */
export function isStepping(run: Run | null): boolean {
  if (!run || run.state === "idle") return false;
  return stateIfAttached(run) === "halted" || run.mode === "step";
}

/** Whether a row waits before something that a person may still forbid. */
export function canDeny({ pending, side, kind }: TimelineRow): boolean {
  return pending && side === "begin" && kind !== "program_started";
}

function stopControl(run: Run): Control {
  return {
    disabledReason: run.stopping ? "Stop is on its way: the agent ends at its next event" : null,
  };
}

/** Why nothing can be changed from here now; null where it can. */
export function readOnlyReason({
  connection,
}: {
  connection: ReadonlySignal<Connection>;
}): string | null {
  const now = connection.value;
  if (now.kind !== "open") return AGENT_AWAY;
  return now.control ? null : WATCHING_ONLY;
}

const AGENT_AWAY = "Not connected to the Core";
const WATCHING_ONLY = "This login may watch, not control";

function disconnectedReason(connection: Connection, run: Run | null): string | null {
  if (connection.kind !== "open") return AGENT_AWAY;
  if (!run) return "There is no run yet";
  if (run.state === "idle") return "The run has ended";
  return connection.control ? null : WATCHING_ONLY;
}

// ---- The shown run in the hands of a shell: the commands of a notebook's menus, for one.

/** What can be asked of the shown run, without a signal or a model in sight. */
export interface RunControl {
  /** The shown run's id; "" where there is none. */
  run(): string;
  /** Whether it waits for a person; also where this login may only watch. */
  isHalted(): boolean;
  /** Whether it hasn't ended, as far as is known. */
  isLive(): boolean;
  /** What is possible now, and why the rest isn't. */
  controlStates(): Controls;
  /**
   * Hear of changes of what is possible.
   *
   * @param changed Called now and after each change.
   * @returns Ends it.
   */
  watch(changed: (controlStates: Controls) => void): () => void;
  /** Whether it is halted or steps: then the keys that step are ours. */
  isStepping(): boolean;
  /** These do nothing where they are impossible; a step leads to what asks for an approval. */
  step(goal?: StepGoal): void;
  resume(): void;
  halt(): void;
  stop(): void;
}

/** The controls of the run that a model shows. */
export function runControl(model: Debugger): RunControl {
  const { controlStates } = model;
  const order = (name: "resume" | "halt" | "stop") => () => {
    if (isUsable(controlStates.peek()[name])) void model[name]();
  };
  return {
    run: () => model.run.peek()?.id ?? "",
    isHalted: () => (model.run.peek()?.pending.length ?? 0) > 0,
    isLive: () => (model.run.peek()?.state ?? "idle") !== "idle",
    controlStates: () => controlStates.peek(),
    watch: (changed) =>
      effect(() => {
        changed(controlStates.value);
      }),
    isStepping: () => isStepping(model.run.peek()),
    step: (goal = INTO) => {
      const { step, to } = controlStates.peek();
      if (isUsable(goal.kind === "to" ? to : step)) void model.step(goal);
    },
    resume: order("resume"),
    halt: order("halt"),
    stop: order("stop"),
  };
}
