/** The Python stack of what waits at a halt point, its locals, and a line to evaluate expressions. */
import { useState } from "preact/hooks";
import type { Model, TimelineRow } from "../model/model";
import type { StackSnapshot } from "../protocol/types.gen";
import styles from "../styles/stack.css";
import { Button } from "../view/button";
import { escapeInvisible, formatCount } from "../view/format";
import { useLoaded } from "../view/lazy";
import { NotFetched } from "../view/notices";
import { Console } from "./console";
import { Frames, firstFrame } from "./frames";
import { Source } from "./source";
import { Variables } from "./variables";

export { styles };

export interface StackProps {
  model: Model;
  row: TimelineRow;
}

export function Stack({ model, row }: StackProps) {
  const loading = useLoaded(model, row.id, () => model.inspection.stack(row.id));
  if (loading.kind === "loading") return <p class="as-Note as-Late">Asking the agent…</p>;
  if (loading.kind === "failed")
    return (
      <NotFetched
        title="The stack isn't shown"
        why={loading.message}
        hint="Ask for the stack again"
        onRetry={loading.retry}
      />
    );
  return <Shown key={row.id} model={model} row={row} stack={loading.value} />;
}

function Shown({ model, row, stack }: StackProps & { stack: StackSnapshot }) {
  const [selected, setSelected] = useState(firstFrame(stack.frames));
  const frame = stack.frames[selected];
  const { inspection } = model;
  return (
    <div class="as-Stack">
      <PdbBar model={model} row={row} stack={stack} />
      <section class="as-Stack-part" aria-label="Stack">
        <h4 class="as-Stack-head">
          Stack
          <span class="as-Muted as-Stack-thread">
            {`${stack.is_task ? "task" : "thread"} ${escapeInvisible(stack.thread)}`}
          </span>
        </h4>
        <Frames frames={stack.frames} selected={selected} onSelect={setSelected} />
        {stack.omitted > 0 && (
          <p class="as-Note">{`${formatCount(stack.omitted, "outer frame")} not shown`}</p>
        )}
      </section>
      {frame && (
        <>
          <Source frame={frame} />
          <Variables inspection={inspection} row={row.id} frame={selected} />
          <Console inspection={inspection} row={row.id} frame={selected} />
        </>
      )}
    </div>
  );
}

/** Leads to pdb, or says why it doesn't. */
function PdbBar({ model, row, stack }: StackProps & { stack: StackSnapshot }) {
  const [said, setSaid] = useState<string | null>(null);
  const refusal = stack.pdb_refusal;
  const enter = async () => {
    try {
      const { where } = await model.inspection.enterPdb(row.id, row.revision);
      setSaid(where);
    } catch (error) {
      setSaid(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <div class="as-Pdb">
      <Button
        outline
        hint="Answer this halt point and stop in pdb at the agent's next line"
        disabledReason={refusal}
        onClick={() => void enter()}
      >
        Drop into pdb
      </Button>
      <span class="as-Small as-Muted" role="status">
        {said ?? refusal ?? "The agent stops at its next line, and asks below the cell."}
      </span>
    </div>
  );
}
