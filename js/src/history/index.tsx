/** All runs: listed, searched, named, tagged, compared, taken in and out. */

import { useEffect, useRef } from "preact/hooks";
import type { Debugger } from "../model/debugger";
import { historyOf } from "../model/history";
import { useNarrow } from "../view/split";
import { Bar } from "./bar";
import { NoneLeft, NoRuns } from "./empty";
import { Foot } from "./foot";
import { useLines } from "./lines";
import { Results } from "./results";
import { Table } from "./table";

export { default as styles } from "../styles/history.css";

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
