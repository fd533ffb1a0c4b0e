/** How a run ended, as far as is known: what its agent said last, and what its process left. Pure. */
import type { Run } from "../protocol/types.gen";

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

/** Failures that the Core words itself, in sentences: agentstepper_nb/hub/endings.py. */
const OF_THE_CORE = new Set([
  "ProcessEnded",
  "AgentLost",
  "CoreStopped",
  "MessageRefused",
  "StoreDamaged",
  "ChangesLost",
]);

/** Whether the agent's own code raised what ended it. */
export function wasRaised({ failure }: Run): boolean {
  return failure !== null && !OF_THE_CORE.has(failure.type);
}

/** What ended a run, in words; "" where nothing did but its end. */
export function causeOf(run: Run): string {
  const { failure, exit_code: code } = run;
  // An exception tells more than an exit code, a signal or a code more than that the process is gone.
  if (failure && wasRaised(run)) return `${failure.type}: ${failure.message}`;
  if (code) return code < 0 ? `killed by ${signalName(-code)}` : `exited with code ${code}`;
  return failure ? failure.message.replace(/\.$/, "") : "";
}

/** "last: tool call run_tests (row 12)"; "" where it isn't known. */
export function lastWords({ last_event }: Run): string {
  return last_event ? `last: ${last_event}` : "";
}

function signalName(number: number): string {
  return SIGNALS[number] ?? `signal ${number}`;
}
