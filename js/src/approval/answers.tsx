/** The buttons that answer a question, and what is allowed beside it. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Button } from "../view/button";
import { Confirm } from "./confirm";
import { Denial } from "./denial";
import { heldAnswering, heldApproving, UNREAD, useRead } from "./held";
import type { QuestionProps } from "./question";
import { Rule } from "./rule";

export function Answers(props: QuestionProps) {
  const { model, row, body, approval } = props;
  const [always, setAlways] = useState(false);
  const line = useRef<HTMLDivElement>(null);
  const confirming = useConfirming(props);
  const denies = model.denying.value === row.id;
  useFocusBack(line, denies);
  const isRead = useRead();
  if (denies) return <Denial model={model} row={row} />;
  if (confirming) return <Confirm {...props} confirming={confirming} />;
  const isHigh = approval.risk === "high";
  const drafted = model.draft(row.id).value !== null;
  const words = drafted ? "Approve edited" : "Approve";
  const approve = () => {
    if (!isHigh) void model.approve(row, { always, confirmed: false });
    else {
      const draft = model.draft(row.id).peek()?.text ?? null;
      model.confirming.value = { row: row.id, revision: row.revision, always, draft };
    }
  };
  return (
    <>
      {approval.rule !== null && (
        <label class="as-Always">
          <input
            type="checkbox"
            checked={always}
            onChange={({ currentTarget }) => setAlways(currentTarget.checked)}
          />
          <span>
            Also allow from now on: <Rule rule={approval.rule} />
          </span>
        </label>
      )}
      <div ref={line} class="as-Asks-acts">
        <Button
          primary
          icon="check"
          class="as-Approve"
          chord="Alt+A"
          name={isHigh ? `${words}…` : words}
          hint={`${drafted ? "Let it happen as you edited it" : "Let it happen"}${isHigh ? "; asks once more" : ""} (Alt+A)`}
          held={heldApproving(model, row, body) ?? (isRead ? null : UNREAD)}
          onClick={approve}
        >
          {isHigh ? `${words}…` : words}
        </Button>
        <Button
          outline
          icon="close"
          class="as-Deny-begin"
          hint="Don’t let it happen, and say why (d)"
          held={heldAnswering(model, row)}
          onClick={() => {
            model.denying.value = row.id;
          }}
        >
          Deny…
        </Button>
      </div>
    </>
  );
}

/** What is to be confirmed here: only what the person saw when they approved it. */
function useConfirming({ model, row }: QuestionProps) {
  const wanted = model.confirming.value;
  const draft = model.draft(row.id).value?.text ?? null;
  const same = wanted?.row === row.id && wanted.revision === row.revision && wanted.draft === draft;
  useLayoutEffect(() => {
    if (wanted?.row === row.id && !same) model.confirming.value = null;
  }, [wanted, same]);
  return same ? wanted : null;
}

/** Who leaves the field of a denial is back at the button that opened it. */
function useFocusBack(line: { current: HTMLElement | null }, denies: boolean): void {
  const before = useRef(denies);
  useLayoutEffect(() => {
    if (before.current && !denies)
      line.current?.querySelector<HTMLElement>(".as-Deny-begin")?.focus({ preventScroll: true });
    before.current = denies;
  }, [denies]);
}
