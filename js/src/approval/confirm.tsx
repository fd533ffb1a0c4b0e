/** The second gesture that approves what is of high risk: another button, elsewhere, with another key. */
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Confirming } from "../model/model";
import { Button } from "../view/button";
import { visible } from "../view/visible";
import { heldApproving, UNREAD, useRead } from "./held";
import type { QuestionProps } from "./question";

interface ConfirmProps extends QuestionProps {
  confirming: Confirming;
}

export function Confirm({ model, row, body, approval, confirming }: ConfirmProps) {
  const box = useRef<HTMLDivElement>(null);
  const { always, draft } = confirming;
  // On no button: the key that approved must not be the one that confirms.
  useLayoutEffect(() => box.current?.focus({ preventScroll: true }), []);
  const isRead = useRead();
  const close = () => {
    model.confirming.value = null;
    box.current?.closest<HTMLElement>(".as-Asks")?.focus({ preventScroll: true });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || event.isComposing) return;
    close();
    event.preventDefault();
    event.stopPropagation();
  };
  const name = visible(row.name ?? "it");
  const rule = always ? approval.rule : null;
  return (
    <div
      ref={box}
      class="as-Confirm"
      role="group"
      aria-label="Confirm the approval"
      tabIndex={-1}
      onKeyDown={onKeyDown}
    >
      <p role="status">
        High risk: let <code>{name}</code> happen{draft === null ? "" : " as you edited it"}
        {rule !== null && (
          <>
            , and allow from now on <Rule rule={rule} />
          </>
        )}
        ?
      </p>
      <div class="as-Asks-acts">
        <Button outline hint="Don’t approve it now (Esc)" onClick={close}>
          Back
        </Button>
        <span class="as-Spring" />
        <Button
          outline
          class="as-mod-danger as-Confirm-yes"
          chord="Alt+Y"
          name={`Yes, approve ${name}`}
          hint="Let it happen (Alt+Y)"
          held={heldApproving(model, row, body) ?? (isRead ? null : UNREAD)}
          onClick={() => void model.approve(row, { always, confirmed: true })}
        >
          Yes, approve
        </Button>
      </div>
    </div>
  );
}

// ---- What would be allowed from now on, as the agent words it: what stands between backticks
// is code.

export function Rule({ rule }: { rule: string }) {
  const parts = visible(rule).split("`");
  return (
    <bdi>{parts.map((part, at) => (at % 2 === 1 ? <code key={part}>{part}</code> : part))}</bdi>
  );
}
