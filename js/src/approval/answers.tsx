/** The buttons that answer a question, and what is allowed beside it. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Model, Row } from "../model/model";
import { Button } from "../view/button";
import { Confirm, Rule } from "./confirm";
import { heldAnswering, heldApproving, UNREAD, useRead } from "./held";
import type { QuestionProps } from "./question";

// ---- The line in which a person says why something must not happen.

/** The Core takes no longer one. */
const LONGEST = 10_000;

/** What was written and not sent, by row: a look elsewhere loses nothing. */
const kept = new Map<string, string>();

export function Denial({ model, row }: { model: Model; row: Row }) {
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => field.current?.focus({ preventScroll: true }), []);
  const held = heldAnswering(model, row);
  const close = () => {
    model.denying.value = null;
  };
  const send = () => {
    if (held === null) void model.deny(row, field.current?.value.trim() ?? "");
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.isComposing) return;
    if (event.key === "Escape") close();
    else if (event.key === "Enter" && event.target === field.current) send();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: keys bubble up to here from the field
    <div class="as-Deny" onKeyDown={onKeyDown}>
      <input
        ref={field}
        class="as-Input"
        aria-label="Why it must not happen"
        placeholder="Why? The agent reads it"
        maxLength={LONGEST}
        defaultValue={kept.get(row.id) ?? ""}
        onInput={({ currentTarget }) => kept.set(row.id, currentTarget.value)}
      />
      <Button outline class="as-mod-danger" hint="Deny it (Enter)" held={held} onClick={send}>
        Deny
      </Button>
      <Button icon="close" hint="Don’t deny it (Esc)" onClick={close} />
    </div>
  );
}

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
