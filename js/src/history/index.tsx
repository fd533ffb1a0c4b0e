/** All runs: listed, searched, named, tagged, compared, taken in and out. */

import { useEffect, useRef } from "preact/hooks";
import type { Debugger } from "../model/debugger";
import { historyOf, type Order } from "../model/history";
import type { Run } from "../model/model";
import history from "../styles/history.css";
import list from "../styles/list.css";
import { Button } from "../view/button";
import { useNarrow } from "../view/split";
import { Bar, Import } from "./bar";
import { Foot } from "./foot";
import { Results } from "./results";
import { matches, sorted } from "./sorting";
import { Table } from "./table";

export const styles = list + history;

export function Runs({ model }: { model: Debugger }) {
  const pane = useRef<HTMLElement>(null);
  const narrow = useNarrow(pane);
  const lines = useLines(model);
  useStoreNews(model);
  return (
    <section ref={pane} class="as-Pane as-Runs" aria-label="All runs">
      {model.runs.value.length > 0 ? (
        <>
          <Bar model={model} narrow={narrow} />
          <Body model={model} lines={lines} narrow={narrow} />
        </>
      ) : (
        <NoRuns model={model} />
      )}
      <Foot model={model} lines={lines} />
    </section>
  );
}

interface BodyProps {
  model: Debugger;
  lines: ReturnType<typeof useLines>;
  narrow: boolean;
}

/** The list stays in the document behind what was found, so that it is found again as it was left. */
function Body({ model, lines, narrow }: BodyProps) {
  const finding = historyOf(model).finding.value;
  const none = lines.length === 0;
  return (
    <>
      <Table model={model} lines={lines} narrow={narrow} hidden={finding !== null || none} />
      {finding && <Results model={model} finding={finding} />}
      {!finding && none && <NoneLeft model={model} />}
    </>
  );
}

/** How much room the runs take is asked for each time somebody comes to look. */
function useStoreNews(model: Debugger): void {
  const looked = model.tab.value === "runs" && model.connection.value.kind === "open";
  useEffect(() => {
    if (looked) void historyOf(model).askStore();
  }, [looked]);
}

// ---- What the Runs tab says where there is nothing to list.

/** No run at all. */
function NoRuns({ model }: { model: Debugger }) {
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

// ---- The runs of the list, in an order that stands still while somebody looks.

interface Kept {
  runs: readonly Run[];
  order: Order;
  /** The runs' ids, sorted. */
  ids: readonly string[];
  shown: boolean;
}

/**
 * The runs to show. They are sorted anew when runs come or go, when the person asks for another order
 * or comes back to the list; a run whose figures grow keeps its place. A list that is hidden rests.
 */
export function useLines(model: Debugger): readonly Run[] {
  const kept = useRef<Kept | null>(null);
  const lines = useRef<readonly Run[]>([]);
  const shown = model.tab.value === "runs";
  if (!shown) {
    if (kept.current) kept.current.shown = false;
    return lines.current;
  }
  const runs = model.runs.value;
  const order = historyOf(model).order.value;
  const before = kept.current;
  const same = before?.shown && before.order === order && sameIds(before.runs, runs);
  const ids = same ? before.ids : sorted(runs, order, Date.now() / 1000).map(({ id }) => id);
  kept.current = { runs, order, ids, shown };
  const byId = new Map(runs.map((run) => [run.id, run]));
  const filter = historyOf(model).filter.value;
  lines.current = ids.flatMap((id) => {
    const run = byId.get(id);
    return run && matches(run, filter) ? [run] : [];
  });
  return lines.current;
}

function sameIds(before: readonly Run[], now: readonly Run[]): boolean {
  return before.length === now.length && before.every(({ id }, at) => id === now[at]?.id);
}
