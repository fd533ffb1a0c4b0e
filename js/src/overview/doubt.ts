/** What a run's overview adds to the status of its end. Pure. */
import type { Run, RunOverview } from "../model/model";
import { DOUBTED, type Status } from "../model/status";

/** The status of a run that finished, as it may be shown. */
export function doubtStatus(status: Status, run: Run, overview: RunOverview | null): Status {
  const known = overview?.run === run.id ? overview : null;
  if (known?.outcome === "gave_up") return { ...DOUBTED, words: "Gave up", detail: known.reason };
  return known?.contradictions.length ? DOUBTED : status;
}
