/** What the Runs tab says where there is nothing to list. */

import type { Debugger } from "../model/debugger";
import { historyOf } from "../model/history";
import { Button } from "../view/button";
import { Import } from "./bar";

/** No run at all. */
export function NoRuns({ model }: { model: Debugger }) {
  return (
    <div class="as-Empty">
      <h3>No run is kept yet</h3>
      <p>
        Every run of an agent is listed here: to be found again, compared, named and exported. Step
        an agent, or take in a run that was exported elsewhere.
      </p>
      <div class="as-Empty-actions">
        <Import model={model} outline />
      </div>
    </div>
  );
}

/** There are runs, but the filter leaves none. */
export function NoneLeft({ model }: { model: Debugger }) {
  return (
    <div class="as-Empty">
      <h3>No run fits the filter</h3>
      <p>Names, programs and tags were looked at. Prompts and files are found by the search.</p>
      <div class="as-Empty-actions">
        <Button
          outline
          hint="Show all runs"
          onClick={() => historyOf(model).narrow({ text: "", outcome: "", tag: "" })}
        >
          Show all runs
        </Button>
      </div>
    </div>
  );
}
