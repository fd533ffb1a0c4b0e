/** The line in which a person says why something must not happen. */
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Model, Row } from "../model/model";
import { Button } from "../view/button";
import { heldAnswering } from "./held";

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
