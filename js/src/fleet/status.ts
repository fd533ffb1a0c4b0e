/** How sessions stand, for who watches many: in words, shape and tone, and in an order. Pure. */
import type { FleetSession, FleetStatus, FleetSummary } from "../protocol/runtime.gen";
import { PAUSING, STATUSES, type Status } from "../sessions/status";

/** First what asks for somebody. */
export const FLEET_STATUSES: Record<FleetStatus, Status> = {
  halted: {
    words: "Halted",
    icon: "halted",
    tone: "you",
    explanation: "Its step waits for you in the debugger",
  },
  quarantined: {
    words: "Quarantined",
    icon: "shield",
    tone: "bad",
    explanation: "Its step ended each worker that began it: no worker tries it again by itself",
  },
  error: STATUSES.error,
  retrying: {
    words: "Retrying",
    icon: "retry",
    tone: "agent",
    explanation: "Its next step failed, and is tried again",
  },
  running: STATUSES.running,
  // Orange is what waits for a person at once; who paused it knows.
  paused: { ...STATUSES.paused, tone: "off" },
  created: { ...STATUSES.created, words: "Waiting" },
  stopping: STATUSES.stopping,
  done: STATUSES.done,
  stopped: STATUSES.stopped,
};

/** How a session stands; what halts or failed meanwhile is said first. */
export const fleetStatusOf = ({ status, is_pausing }: FleetSession): Status =>
  status === "running" && is_pausing === true ? PAUSING : FLEET_STATUSES[status];

export const STATUS_NAMES = Object.keys(FLEET_STATUSES) as FleetStatus[];

/** How many sessions stand so, whatever their moniker. */
export function countByStatus(fleet: FleetSummary | null): Map<FleetStatus, number> {
  const counts = new Map<FleetStatus, number>();
  for (const { status, count } of fleet?.report.counts ?? [])
    counts.set(status, (counts.get(status) ?? 0) + count);
  return counts;
}

/** All monikers, in the order of their letters. */
export function monikersOf(fleet: FleetSummary | null): string[] {
  const found = new Set((fleet?.report.counts ?? []).map(({ moniker }) => moniker));
  return [...found].sort((a, b) => a.localeCompare(b));
}

export const countSessions = (fleet: FleetSummary | null): number =>
  (fleet?.report.counts ?? []).reduce((sum, { count }) => sum + count, 0);

/** Whether a session ended so that it can be retried. */
export const canRetry = (status: FleetStatus): boolean =>
  status === "error" || status === "quarantined";
