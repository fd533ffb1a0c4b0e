/** A run at a glance: how it came out, calls by tool, files, repetitions, errors, effect checks. */
import type { ComponentChildren } from "preact";
import type { Model } from "../model/model";
import diff from "../styles/diff.css";
import overview from "../styles/overview.css";
import { useLoaded } from "../view/lazy";
import { NotFetched } from "../view/notices";
import { FileAtRowPane } from "./file_at_row";
import { Outcome } from "./outcome";
import { Checks, Errors, Files, Marked, Repeated, Tools } from "./sections";

export const styles = `${overview}\n${diff}`;

interface OverviewProps {
  model: Model;
  /** What stands below: what the run spent its tokens and its time on. */
  children?: ComponentChildren;
}

export function Overview({ model, children }: OverviewProps) {
  const run = model.run.value;
  const shown = model.tab.value === "overview";
  const loading = useLoaded(model, run?.id ?? "", () => model.overview(), {
    version: `${run?.rows} ${run?.pending.length} ${run?.ending} ${run?.checks?.length}`,
    enabled: shown && run !== null,
  });
  const file = model.fileAtRow.value;
  if (loading.kind === "failed") {
    return (
      <NotFetched
        title="The overview could not be fetched"
        why={loading.message}
        hint="Ask for the overview again"
        onRetry={loading.retry}
      />
    );
  }
  if (loading.kind === "loading" || !run) return <p class="as-Note as-Late">Reading the run…</p>;
  const found = loading.value;
  if (file) {
    return (
      <FileAtRowPane
        key={file.path}
        model={model}
        file={file}
        overview={found}
        onClose={() => {
          model.fileAtRow.value = null;
        }}
      />
    );
  }
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keys
    <div class="as-Scroll as-Overview" role="region" aria-label="Run at a glance" tabIndex={0}>
      <Outcome model={model} run={run} overview={found} />
      <Marked model={model} overview={found} />
      <Tools model={model} overview={found} />
      <Files model={model} overview={found} />
      <Repeated model={model} overview={found} />
      <Errors model={model} overview={found} />
      <Checks overview={found} />
      {children}
    </div>
  );
}
