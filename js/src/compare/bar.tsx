/** Above a comparison: back to the runs, how many differences there are, and the way between them. */
import { Button } from "../view/button";
import { count } from "../view/words";

interface BarProps {
  onClose(): void;
  /** Absent while nothing can be compared yet. */
  differences?: number;
  /** Whether only differences are shown. */
  only?: boolean;
  onOnly?(only: boolean): void;
  /** Whether there are differences before and after the selected pair. */
  before?: boolean;
  after?: boolean;
  onStep?(by: 1 | -1): void;
}

export function Bar({ onClose, differences, only = false, onOnly, ...steps }: BarProps) {
  const { before, after, onStep } = steps;
  const none = differences === 0;
  return (
    <div class="as-PaneBar as-CompareBar">
      <Button icon="left" name="Back to the runs" hint="Back to the runs (Esc)" onClick={onClose}>
        Runs
      </Button>
      <span class="as-Spring" />
      {differences !== undefined && (
        <>
          <span class="as-Muted as-Small" role="status">
            {none ? "No difference found" : count(differences, "difference")}
          </span>
          <Button
            icon="up"
            hint="Previous difference (k, Shift+F7)"
            held={before ? null : "No difference before this one"}
            onClick={() => onStep?.(-1)}
          />
          <Button
            icon="down"
            hint="Next difference (j, F7)"
            held={after ? null : "No difference after this one"}
            onClick={() => onStep?.(1)}
          />
          <Button
            icon="filter"
            name="Only differences"
            hint={only ? "Show all events again" : "Show only what differs"}
            pressed={only}
            held={none && !only ? "There is no difference to show" : null}
            onClick={() => onOnly?.(!only)}
          >
            <span class="as-x-narrow">Only differences</span>
          </Button>
        </>
      )}
    </div>
  );
}
