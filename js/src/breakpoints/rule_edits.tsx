/** What an edit rule would have edited, and why it can't be had. */
import type { Debugger } from "../model/debugger";
import type { EditRuleOutcome } from "../protocol/types.gen";
import { escapeInvisible, formatCount } from "../view/format";
import { revealRow } from "./draft";

export function Problem({ text }: { text: string }) {
  return (
    <p class="as-Bad as-Small" role="alert">
      {escapeInvisible(text)}
    </p>
  );
}

/** So many edits are shown; the others are counted. */
const MAX_EDITS = 5;

export function RuleEdits({ model, outcome }: { model: Debugger; outcome: EditRuleOutcome }) {
  const { run, edits, total, error } = outcome;
  const rest = total - Math.min(edits.length, MAX_EDITS);
  return (
    <>
      <ul class="as-EditRule-edits">
        {edits.slice(0, MAX_EDITS).map(({ seq, before, after }) => (
          <li key={seq} class="as-EditRule-line as-Small">
            <button
              type="button"
              class="as-Link"
              aria-label={`Event ${seq}`}
              onClick={() => void revealRow(model, run, seq)}
            >
              {seq}
            </button>
            <code class="as-Code as-Ellipsis" title={before}>
              <del>{escapeInvisible(before ?? "")}</del>
            </code>
            <span aria-hidden="true">→</span>
            <code class="as-Code as-Ellipsis" title={after}>
              <ins>{escapeInvisible(after ?? "")}</ins>
            </code>
          </li>
        ))}
      </ul>
      {rest > 0 && <p class="as-Muted as-Small">and {formatCount(rest, "more edit")}</p>}
      {error !== null && <Problem text={`The run would halt at the next match: ${error}`} />}
    </>
  );
}
