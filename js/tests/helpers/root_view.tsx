/** The whole view, drawn into the test's box. */
import { signal } from "@preact/signals";
import { render } from "preact";
import { vi } from "vitest";
import type { ViewPlacement } from "../../src/view/hooks";
import { Root } from "../../src/view/root";
import { showing } from "./debugger";
import { box, drawn } from "./dom";
import { queriesOf } from "./queries";
import { aRow, haltedRun, pendingRow } from "./values";

export async function draw(all: Awaited<ReturnType<typeof showing>>) {
  const place: ViewPlacement = { shell: "inline", resizable: true, overlay: signal(null) };
  render(<Root model={all.model} place={place} />, box);
  await drawn();
  return { ...all, place };
}

export const halted = () => showing(haltedRun("a", "r2"), [aRow(1), pendingRow(2)]);
export const state = () => box.querySelector("[role=status]")?.textContent;
export const { button } = queriesOf(() => box, drawn);

/** What lies over the view is fetched when it is first needed. */
export async function dialog(): Promise<Element> {
  const found = await vi.waitFor(() => {
    const found = box.querySelector("[role=dialog]");
    if (!found) throw new Error("there is no dialog");
    return found;
  });
  await drawn();
  return found;
}

export async function focusRow(id: string): Promise<void> {
  box.querySelector<HTMLElement>(`[data-row="${id}"]`)?.focus();
}
