/** What a row asks a person and how it is answered; the field of a denial. Below: nothing moves for it. */
import type { MessageBody, Model, TimelineRow } from "../model/model";
import { Decision, Denial, Question } from "./question";

export { default as styles } from "../styles/approval.css";

export interface ApprovalProps {
  model: Model;
  row: TimelineRow;
  /** Undefined until it is here. */
  body: MessageBody | undefined;
}

export function Approval({ model, row, body }: ApprovalProps) {
  if (!body) return <div class="as-Foot as-Asks" />;
  if (!row.pending) return <Decision row={row} body={body} />;
  if (body.approval) {
    // Anew for each revision: a button that has the focus isn't the next question's.
    const key = `${row.id} ${row.revision}`;
    return <Question key={key} model={model} row={row} body={body} approval={body.approval} />;
  }
  return (
    <section class="as-Foot" aria-label="Deny">
      <Denial model={model} row={row} />
    </section>
  );
}
