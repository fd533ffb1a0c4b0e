/** Two runs side by side: what both did, what only one did, and where their contents part. */
import type { Comparison, Model } from "../model/model";
import changes from "../styles/changes.css";
import compare from "../styles/compare.css";
import contents from "../styles/contents.css";
import diff from "../styles/diff.css";
import { Button } from "../view/button";
import { Bar } from "./bar";
import { useRuns } from "./loading";
import { SideBySide } from "./side_by_side";

/** As in the Changes tab and in what is read, and its own. */
export const styles = `${changes}\n${contents}\n${diff}\n${compare}`;

interface CompareProps {
  model: Model;
  ids: Comparison;
}

export function Compare({ model, ids }: CompareProps) {
  const { runs, again } = useRuns(model, ids);
  const onClose = () => {
    model.compare.value = null;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Escape") return;
    onClose();
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <section class="as-Pane" aria-label="Two runs compared" onKeyDown={onKeyDown}>
      {runs.kind === "ready" ? (
        <SideBySide
          key={`${ids.left} ${ids.right}`}
          model={model}
          ids={ids}
          runs={runs.value}
          onAgain={again}
          onClose={onClose}
        />
      ) : (
        <>
          <Bar onClose={onClose} />
          {runs.kind === "loading" ? (
            <p class="as-Note as-Late">Fetching both runs…</p>
          ) : (
            <Failed message={runs.message} onAgain={runs.again} />
          )}
        </>
      )}
    </section>
  );
}

function Failed({ message, onAgain }: { message: string; onAgain(): void }) {
  return (
    <div class="as-Empty">
      <h3>The runs could not be fetched</h3>
      <p>{message}</p>
      <div class="as-Empty-actions">
        <Button outline hint="Ask for both runs again" onClick={onAgain}>
          Try again
        </Button>
      </div>
    </div>
  );
}
