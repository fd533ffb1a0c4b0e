import { signal } from "@preact/signals";
import { render } from "preact";
import { beforeEach, expect, vi } from "vitest";
import { MIN_READING_MS } from "../../src/approval/question";
import type { MessageBody, Run, TimelineRow } from "../../src/model/model";
import type { ViewPlacement } from "../../src/view/hooks";
import { Root } from "../../src/view/root";
import { aModel } from "./debugger";
import { drawn, useLayout } from "./dom";
import { aBody, haltedRun, pendingRow } from "./values";

/** Nothing is laid out here; `tests/e2e` looks at real places. */
const sight = vi.hoisted(() => ({ isInSight: true }));
vi.mock("../../src/view/focus", async (original) => ({
  ...(await original<typeof import("../../src/view/focus")>()),
  isInSight: () => sight.isInSight,
}));

/** What waits until a question has been read: the tests say when. */
const unread: (() => void)[] = [];

/** Where the view is drawn, anew for each test of `useApprovals`. */
export let box: HTMLElement;

/** Draw views of approvals in each test of this file. */
export function useApprovals() {
  useLayout();
  beforeEach(startView);
}

function startView() {
  localStorage.clear();
  sight.isInSight = true;
  unread.length = 0;
  const later = globalThis.setTimeout;
  vi.spyOn(globalThis, "setTimeout").mockImplementation(((then: () => void, ms?: number) =>
    ms === MIN_READING_MS ? unread.push(then) : later(then, ms)) as typeof setTimeout);
  box = document.body.appendChild(document.createElement("div"));
}

/** Say whether a question is in sight. */
export const setInSight = (isInSight: boolean) => {
  sight.isInSight = isInSight;
};

export const CALL = { kind: "tool_invocation", name: "rm", target: "tools" } as const;
export const APPROVAL = {
  risk: "medium",
  why: "It deletes <b>files</b>.",
  rule: "`rm build/*` in this workspace",
} as const;
export const asking = (seq: number, fields: Partial<TimelineRow> = {}) =>
  pendingRow(seq, { ...CALL, approval: true, summary: 'Asks: rm("build")', ...fields });
export const waiting = (...pending: string[]): Run => ({
  ...haltedRun("a", ...pending),
  mode: "continue",
});

/** A view of these rows, of which the selected one's contents are here. */
export async function shown(
  rows: TimelineRow[],
  { run, body, control = true }: { run?: Run; body?: Partial<MessageBody>; control?: boolean } = {},
) {
  const all = aModel();
  const pending = rows.filter((row) => row.pending).map(({ id }) => id);
  const shownRun = run ?? waiting(...pending);
  await all.peer.greet([shownRun], control);
  await all.opens(shownRun, rows);
  const place: ViewPlacement = { shell: "inline", resizable: true, overlay: signal(null) };
  render(<Root model={all.model} place={place} />, box);
  await drawn();
  const contents = { data: '{"Tool": "rm", "Argument": "build"}', approval: APPROVAL, ...body };
  /** Answer all requests for contents. */
  const read = async () => {
    const { inbox } = all.peer;
    for (const sent of inbox.filter(({ type }) => type === "get_message")) {
      inbox.splice(inbox.indexOf(sent), 1);
      await all.peer.answer(sent, "message", aBody(String(sent.body.message), contents));
    }
    await drawn();
  };
  await read();
  await vi.waitFor(() => expect(box.querySelector(".as-Inspector .as-Title")).not.toBeNull());
  await drawn();
  all.peer.inbox.length = 0;
  return { ...all, read };
}

export const bar = async () => {
  const found = await vi.waitFor(() => {
    const found = box.querySelector<HTMLElement>("[aria-label=Approval]");
    if (!found) throw new Error("nothing is asked");
    return found;
  });
  await read();
  return found;
};
/** Let a question stand for as long as it takes to be read. */
export const read = async () => {
  await drawn();
  for (const then of unread.splice(0)) then();
  await drawn();
};
export const button = (name: string) =>
  [...box.querySelectorAll<HTMLButtonElement>(".as-Inspector button")].find(
    (each) => (each.getAttribute("aria-label") ?? each.textContent) === name,
  );
export const field = () => box.querySelector<HTMLInputElement>(".as-Deny input");
export const focusRow = (id: string) =>
  box.querySelector<HTMLElement>(`[data-row="${id}"]`)?.focus();
export const click = async (name: string) => {
  const found = button(name);
  if (!found) throw new Error(`no button ${name}`);
  found.focus();
  found.click();
  await drawn();
};
export const marks = () =>
  [...box.querySelectorAll(".as-Row-marks [role=img]")].map((each) =>
    each.getAttribute("aria-label"),
  );
