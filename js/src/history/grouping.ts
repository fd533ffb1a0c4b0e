/** What a search has found, by run. Pure. */
import type { Run } from "../model/model";
import type { Hit } from "../protocol/types.gen";

/** A run, and where in it the words stand. */
export interface Group {
  readonly run: Run;
  readonly hits: readonly Hit[];
}

/** Hits by run, as they came: newest first. Those of runs that `wanted` refuses are left out. */
export function grouped(
  hits: readonly Hit[],
  runs: readonly Run[],
  wanted: (run: Run) => boolean,
): Group[] {
  const byId = new Map(runs.map((run) => [run.id, run]));
  const found = new Map<string, Hit[]>();
  for (const hit of hits) found.set(hit.run, [...(found.get(hit.run) ?? []), hit]);
  return [...found].flatMap(([id, those]) => {
    const run = byId.get(id);
    return run && wanted(run) ? [{ run, hits: those }] : [];
  });
}
