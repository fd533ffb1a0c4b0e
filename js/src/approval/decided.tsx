/** What was asked, once it is answered; and what was denied unasked. */
import { Icon } from "../icons/icon";
import type { MessageBody, Row } from "../model/model";
import { visible } from "../view/visible";
import { outcome, RISKS } from "./words";

export function Decided({ row, body }: { row: Row; body: MessageBody }) {
  const { approval } = body;
  const denied = row.answer === "deny";
  return (
    <section class="as-Foot as-Decided" aria-label="Approval">
      <p>
        <Icon name={denied ? "cross" : "check"} class={denied ? "as-Bad" : "as-Good"} />
        <bdi>{outcome(row.answer, body)}</bdi>
      </p>
      {approval && (
        <p class="as-Muted as-Small">
          Asked for approval, {RISKS[approval.risk]}: <bdi>{visible(approval.why)}</bdi>
        </p>
      )}
    </section>
  );
}
