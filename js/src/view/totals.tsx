/** What a run has used so far: its tokens and what they cost. */
import type { Run } from "../model/model";
import { costFigure, tokensFigure, tokensOf, tokensTitle } from "./figures";

export function Totals({ run }: { run: Run }) {
  const tokens = tokensOf(run);
  if (!tokens) return null;
  const cost = costFigure(run.usage);
  return (
    <span class="as-Totals as-x-narrow" title={tokensTitle(run)}>
      <b>{tokensFigure(tokens)}</b> tokens
      {cost && <b class="as-Totals-cost">{cost}</b>}
    </span>
  );
}
