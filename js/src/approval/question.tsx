/** What a halted call asks, and the buttons that answer it. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon } from "../icons/icon";
import type { Model, Row } from "../model/model";
import type { Approval } from "../protocol/types.gen";
import { Button } from "../view/button";
import { visible } from "../view/visible";
import { Denial } from "./denial";
import { heldAnswering } from "./held";
import { RISKS } from "./words";

interface QuestionProps {
  model: Model;
  row: Row;
  approval: Approval;
}

export function Question({ model, row, approval }: QuestionProps) {
  const { risk, why } = approval;
  const connection = model.connection.value;
  const watches = connection.kind === "open" && !connection.control;
  return (
    <section class="as-Foot as-Asks" aria-label="Approval">
      <p>
        <Icon name="shield" class="as-You" />
        <b>Asks for approval</b>
        <span class={`as-Risk as-mod-${risk}`}>{RISKS[risk]}</span>
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keys */}
      <p class="as-Asks-why" tabIndex={0}>
        {visible(why)}
      </p>
      {watches ? (
        <p class="as-Muted as-Small">This login may watch, not answer</p>
      ) : (
        <Answers model={model} row={row} approval={approval} />
      )}
    </section>
  );
}

function Answers({ model, row, approval: { rule } }: QuestionProps) {
  const [always, setAlways] = useState(false);
  const line = useRef<HTMLDivElement>(null);
  const denies = model.denying.value === row.id;
  useFocusBack(line, denies);
  if (denies) return <Denial model={model} row={row} />;
  const drafted = model.draft(row.id).value !== null;
  const held = heldAnswering(model, row);
  return (
    <>
      {rule !== null && (
        <label class="as-Always">
          <input
            type="checkbox"
            checked={always}
            onChange={({ currentTarget }) => setAlways(currentTarget.checked)}
          />
          <span>
            Always allow this here: <code>{visible(rule)}</code>
          </span>
        </label>
      )}
      <div ref={line} class="as-Asks-acts">
        <Button
          primary
          icon="check"
          class="as-Approve"
          hint={drafted ? "Let it happen as you edited it (a)" : "Let it happen (a)"}
          held={held ?? invalid(model)}
          onClick={() => void model.approve(row, always)}
        >
          {drafted ? "Approve edited" : "Approve"}
        </Button>
        <Button
          outline
          icon="close"
          class="as-Deny-begin"
          hint="Don’t let it happen, and say why (d)"
          held={held}
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

function invalid(model: Model): string | null {
  const why = model.draftError.value;
  return why === null ? null : `The edit isn’t valid JSON: ${why}`;
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
