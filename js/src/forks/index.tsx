/** The tab Forks: the tree of runs that the shown run belongs to, and what can be done with it. */
import type { ComponentType } from "preact";
import { useState } from "preact/hooks";
import type { Debugger } from "../model/debugger";
import type { ForkTree } from "../protocol/types.gen";
import forks from "../styles/forks.css";
import searches from "../styles/searches.css";
import { useLoaded } from "../view/lazy";
import { NotFetched } from "../view/notices";
import { DecidingEventSection } from "./deciding_event";
import { RestoredSection } from "./restored";
import { TestExportSection } from "./test_export";
import { TreeSection } from "./tree";

export const styles = forks + searches;

/** What each section is given. */
export interface ForkSectionProps {
  model: Debugger;
  tree: ForkTree;
  /** Read the tree again: something was done that changes it. */
  onChanged(): void;
}

/** In their order. A section that has nothing to say of the run draws nothing. */
const SECTIONS: readonly ComponentType<ForkSectionProps>[] = [
  RestoredSection,
  TreeSection,
  DecidingEventSection,
  TestExportSection,
];

export function Forks({ model }: { model: Debugger }) {
  const run = model.run.value?.id ?? "";
  const [changes, setChanges] = useState(0);
  const loading = useLoaded(model, run, () => listForks(model, run), {
    version: `${versionOf(model)} ${changes}`,
    enabled: model.tab.value === "forks" && run !== "",
  });
  if (loading.kind === "failed") {
    return (
      <NotFetched
        title="The forks could not be fetched"
        why={loading.message}
        hint="Ask for the forks again"
        onRetry={loading.retry}
      />
    );
  }
  if (loading.kind === "loading") return <p class="as-Note as-Late">Reading the runs…</p>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keys
    <div class="as-Scroll as-Forks" role="region" aria-label="Forks of this run" tabIndex={0}>
      {SECTIONS.map((Section, at) => (
        <Section
          key={at}
          model={model}
          tree={loading.value}
          onChanged={() => setChanges(changes + 1)}
        />
      ))}
    </div>
  );
}

const listForks = (model: Debugger, run: string) =>
  model.historyOptions.client.request("list_forks", { run });

/** Changes where a run begins that is started again, ends, halts or goes on, or the shown one grows. */
function versionOf({ runs, run }: Debugger): string {
  const listed = runs.value.filter(({ id, forked_from }) => forked_from || id === run.value?.id);
  const states = listed.map(({ id, state, ending, pending }) => [id, state, ending, ...pending]);
  return `${run.value?.rows} ${states.join()}`;
}
