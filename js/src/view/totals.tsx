/** What a run has used so far: its tokens and what they cost. */
import { useComputed } from "@preact/signals";
import type { Debugger } from "../model/debugger";
import type { Row, Run } from "../model/model";
import { costFigure, NOT_TOLD, tokenFigure, tokensBySize, tokensIn, usageWords } from "./figures";

export function Totals({ model, run }: { model: Debugger; run: Run }) {
  const told = tokensIn(run.usage);
  const sized = useComputed(() => (told === null ? bySize(model.rows.value, run) : null)).value;
  if (told === null && sized === null) return null;
  const cost = costFigure(run.usage);
  const figure = told === null ? `≈${tokenFigure(sized)}` : tokenFigure(told);
  return (
    <span class="as-Totals as-x-narrow" title={told === null ? NOT_TOLD : usageWords(run.usage)}>
      <b>{figure}</b> tokens
      {cost && <b class="as-Totals-cost">{cost}</b>}
    </span>
  );
}

/** The tokens of all queries and answers by their sizes; null where not all are here, or there are none. */
function bySize(rows: readonly Row[], run: Run): number | null {
  if (rows.length < run.rows) return null;
  const bytes = rows.reduce((sum, row) => (row.kind === "llm_query" ? sum + row.size : sum), 0);
  return bytes === 0 ? null : tokensBySize(bytes);
}
