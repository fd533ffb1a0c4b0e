/** What a run is doing, in words, shape and tone: who waits for whom. Pure. */
import type { IconName } from "../icons/icon";
import type { Run } from "../protocol/types.gen";
import { formatDate } from "../view/format";
import type { Connection, TimelineRow } from "./model";
import { stepWords } from "./steps";

// ---- How a run ended, as far as is known: what its agent said last, and what its process
// left. Pure.

/** POSIX signals that end processes, by number: those that mean the same everywhere. */
const SIGNALS: Record<number, string> = {
  1: "SIGHUP",
  2: "SIGINT",
  3: "SIGQUIT",
  4: "SIGILL",
  6: "SIGABRT",
  8: "SIGFPE",
  9: "SIGKILL",
  11: "SIGSEGV",
  13: "SIGPIPE",
  14: "SIGALRM",
  15: "SIGTERM",
};

/** Failures that the Core words itself, in sentences: agentstepper_nb/hub/end_reasons.py. */
const OF_THE_CORE = new Set([
  "ProcessEnded",
  "AgentLost",
  "CoreStopped",
  "MessageRefused",
  "StoreDamaged",
  "ChangesLost",
]);

/** Whether the agent's own code raised what ended it. */
export function isRaisedByAgent({ failure }: Run): boolean {
  return failure !== null && !OF_THE_CORE.has(failure.type);
}

/** What ended a run, in words; "" where nothing did but its end. */
export function causeOf(run: Run): string {
  const { failure, exit_code: code } = run;
  // An exception tells more than an exit code, a signal or a code more than that the process is gone.
  if (failure && isRaisedByAgent(run)) return `${failure.type}: ${failure.message}`;
  if (code) return code < 0 ? `killed by ${signalName(-code)}` : `exited with code ${code}`;
  return failure ? failure.message.replace(/\.$/, "") : "";
}

/** "last: tool call run_tests (row 12)"; "" where it isn't known. */
export function lastOutput({ last_event }: Run): string {
  return last_event ? `last: ${last_event}` : "";
}

function signalName(number: number): string {
  return SIGNALS[number] ?? `signal ${number}`;
}

export interface Status {
  words: string;
  /** What follows from it, in smaller type where there is room. */
  detail: string;
  icon: IconName;
  tone: "you" | "llm" | "tools" | "agent" | "good" | "bad" | "off";
  spin?: boolean;
}

type LinkStatusInput = Exclude<Connection, { kind: "open" }>;

interface StatusInput {
  run: Run | null;
  /** The rows that wait. */
  pending: readonly TimelineRow[];
  /** Whether a certain run was asked for. */
  isAwaited: boolean;
  /** Whether its contents are on their way. */
  opening: boolean;
  /** The breakpoints that hit where it is halted, in words; "" where none did. */
  breakpoints?: string;
}

/** The view's state: that of the link while it doesn't stand, else that of the run. */
export function viewStatus(
  connection: Connection,
  { run, pending, isAwaited, opening, breakpoints }: StatusInput,
): Status {
  if (connection.kind !== "open") return linkStatus(connection);
  if (run) return runStatus(run, pending, breakpoints);
  if (opening) return busy("Opening the run…", "", "off");
  const words = isAwaited ? "Waiting for the run" : "No run yet";
  return { words, detail: "", icon: "diamond", tone: "off" };
}

/**
 * A run's state.
 *
 * @param pending The rows that wait, where they are known: they say what the agent is halted at.
 * @param breakpoints The breakpoints that hit there, in words.
 */
export function runStatus(
  run: Run,
  pending: readonly TimelineRow[] = [],
  breakpoints = "",
): Status {
  if (run.state === "idle") return endStatus(run);
  if (run.state === "detached") return awayStatus(run);
  if (run.state === "halted") return haltStatus(run, pending, breakpoints);
  if (run.agent_state === "waiting") return waitStatus(run);
  if (run.stopping) return busy("Stopping…", "at the agent’s next event", "agent");
  const activity = activityStatus(run);
  const step = stepWords(run);
  if (!step) return activity;
  const detail = activity.words.replace("…", "").replace(/^[AT]/, (first) => first.toLowerCase());
  return { ...activity, words: step, detail };
}

function activityStatus({ agent_state }: Run): Status {
  switch (agent_state) {
    case "llm_thinking":
      return busy("LLM thinking…", "the agent waits for it", "llm");
    case "tool_executing":
      return busy("Tool executing…", "the agent waits for it", "tools");
    case "halting":
      return busy("Halting…", "at the agent’s next event", "agent");
    default:
      return busy("Agent running…", "", "agent");
  }
}

/** What keeps the view and the Core apart, in a sentence; null where nothing does, or waiting mends it. */
export function connectionProblem(connection: Connection): string | null {
  if (connection.kind === "refused") return connection.message;
  return connection.kind === "lost" ? null : (connection.stalled ?? null);
}

function linkStatus(connection: LinkStatusInput): Status {
  switch (connection.kind) {
    case "connecting":
      return busy("Connecting…", "", "off");
    case "lost":
      return {
        words: "Connection lost",
        detail: again(connection.retryInMs),
        icon: "unplug",
        tone: "bad",
      };
    case "refused":
      return { words: "Not connected", detail: "", icon: "unplug", tone: "bad" };
  }
}

function again(ms: number): string {
  return ms > 0 ? `retry in ${Math.ceil(ms / 1000)} s` : "retrying…";
}

function haltStatus(run: Run, pending: readonly TimelineRow[], breakpoints: string): Status {
  const why = breakpoints ? `at the breakpoint ${breakpoints}` : "the agent waits for you";
  const detail = run.stopping ? "Stop is on its way" : why;
  const asks = pending.filter(({ approval }) => approval).length;
  const many = run.pending.length;
  if (asks > 0 && asks === many) {
    const words = many > 1 ? `Waiting for ${many} approvals` : "Waiting for approval";
    return { words, detail, icon: "shield", tone: "you" };
  }
  const words = many > 1 ? `Halted at ${many} events` : haltedAt(pending[0]);
  return { words, detail, icon: "halted", tone: "you" };
}

function haltedAt(row: TimelineRow | undefined): string {
  const side = row?.side === "end" ? "after" : "before";
  switch (row?.kind) {
    case "llm_query":
      return `Halted ${side} LLM query`;
    case "tool_invocation":
      return `Halted ${side} tool call`;
    case "custom": // its name is a word that the Core has checked
      return `Halted ${side} ${(row.name ?? "event").replaceAll("_", " ")}`;
    case "program_started":
      return "Halted at the start";
    case "program_finished":
      return "Halted at the end";
    default:
      return "Halted";
  }
}

/** Nothing runs: what was ordered is carried out once it does. */
function waitStatus({ stopping, state }: Run): Status {
  const next = stopping ? "; it stops then" : state === "step" ? "; it halts then" : "";
  const detail = `nothing runs until then${next}`;
  return { words: "Waiting for a message", detail, icon: "diamond", tone: "off" };
}

/** What waits for the person goes on waiting: orange, as where the agent is there. */
function awayStatus({ detached_at, pending }: Run): Status {
  const since = detached_at === null ? "" : `; away since ${formatDate(detached_at)}`;
  const waits = pending.length > 0;
  const next = waits ? "your answers reach it when it is back" : "it may come back";
  return {
    words: "Agent away",
    detail: next + since,
    icon: "unplug",
    tone: waits ? "you" : "off",
  };
}

function endStatus(run: Run): Status {
  const cause = causeOf(run);
  const told = (otherwise: string) =>
    [cause || otherwise, lastOutput(run)].filter(Boolean).join("; ");
  switch (run.ending) {
    case "finished":
      return isDoubted(run)
        ? DOUBTED
        : { words: "Finished", detail: cause, icon: "check", tone: "good" };
    case "stopped":
      return { words: "Stopped", detail: "by a person", icon: "stop", tone: "off" };
    case "crashed":
      return { words: "Crashed", detail: told(""), icon: "crash", tone: "bad" };
    case "lost":
      return { words: "Lost", detail: told(NOT_BACK), icon: "unplug", tone: "bad" };
    case null:
      return { words: "Ended", detail: "", icon: "check", tone: "off" };
  }
}

/** A run of which something speaks against the end that its agent claims: no green tick then. */
export const DOUBTED: Status = {
  words: "Finished",
  detail: "with doubts",
  icon: "warn",
  tone: "you",
};

/** Whether a run's own figures speak against its end: a check that failed, or a marked row. */
function isDoubted({ checks, effects }: Run): boolean {
  return (checks?.at(-1)?.exit_code ?? 0) !== 0 || (effects?.warnings ?? 0) > 0;
}

const NOT_BACK = "the agent did not come back";

function busy(words: string, detail: string, tone: Status["tone"]): Status {
  return { words, detail, icon: "spin", tone, spin: true };
}
