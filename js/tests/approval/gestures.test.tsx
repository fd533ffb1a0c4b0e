import { describe, expect, test, vi } from "vitest";
import {
  APPROVAL,
  asking,
  bar,
  box,
  button,
  CALL,
  click,
  focusRow,
  read,
  setInSight,
  shown,
  useApprovals,
  waiting,
} from "../helpers/approvals";
import { drawn, press } from "../helpers/dom";
import { aBody, aRow, haltedRun, pendingRow, rowsTo } from "../helpers/values";

useApprovals();

describe("keys", () => {
  const APPROVE = { altKey: true, code: "KeyA" };

  test("Alt+A approves what is shown; what isn't is shown first", async () => {
    const { model, peer, read: fetched } = await shown([...rowsTo(1), asking(2)]);
    await bar();
    model.select("r1");
    await drawn();
    focusRow("r1");
    await press("a", APPROVE);
    expect(model.selectedRow.value).toBe("r2");
    await fetched();
    expect(peer.inbox.map(({ type }) => type)).not.toContain("approve");
    const asked = await bar();
    expect(document.activeElement).toBe(asked);
    await press("å", APPROVE); // as a Mac writes it
    expect(peer.take("approve").body).toMatchObject({ breakpoint: "r2" });
  });

  test("Alt+A does nothing where nothing is asked", async () => {
    const { peer } = await shown([pendingRow(1, CALL)], {
      run: haltedRun("a", "r1"),
      body: { approval: null },
    });
    focusRow("r1");
    await press("a", APPROVE);
    expect(peer.inbox).toEqual([]);
  });

  test("Alt+A leads to a question that is scrolled out of sight", async () => {
    const { peer } = await shown([asking(1)]);
    const asked = await bar();
    focusRow("r1");
    setInSight(false);
    await press("a", APPROVE);
    expect(peer.inbox).toEqual([]);
    expect(document.activeElement).toBe(asked);
    expect(asked.querySelector("[role=status]")?.textContent).toContain(
      "The call is not approved yet",
    );
    setInSight(true);
    await press("a", APPROVE);
    peer.take("approve");
  });

  test.each<[string, KeyboardEventInit]>([
    ["a", {}],
    ["A", { shiftKey: true }],
    ["A", { ...APPROVE, shiftKey: true }],
    ["a", { ...APPROVE, repeat: true }],
    ["y", { altKey: true, code: "KeyY" }],
    ["F10", {}],
    ["F11", {}],
    ["F11", { shiftKey: true }],
    ["t", {}],
    ["F9", {}],
    ["F6", {}],
    ["Enter", {}],
    [" ", { code: "Space" }],
    ["Enter", { shiftKey: true }],
    ["c", {}],
    ["s", {}],
    ["y", {}],
  ])(
    "%s %o never approves, however often",
    async (key, how) => {
      const { peer } = await shown([asking(1)], { run: { ...waiting("r1"), mode: "step" } });
      await bar();
      for (let times = 0; times < 20; times += 1) {
        focusRow("r1");
        await press(key, how);
        await read();
      }
      const sent = peer.inbox.map(({ type }) => type);
      expect(sent.filter((type) => ["approve", "deny", "step", "edit"].includes(type))).toEqual([]);
    },
    20_000,
  );

  test("F10 leads to the question and says so; Step says why it answers nothing", async () => {
    const { peer } = await shown([asking(1), pendingRow(2)], { run: haltedRun("a", "r1", "r2") });
    const asked = await bar();
    const control = (name: string) =>
      [...box.querySelectorAll<HTMLElement>(".as-Controls button")].find(
        (each) => each.textContent === name,
      );
    expect(control("Step")?.title).toContain("approve or deny");
    expect(control("Step")?.getAttribute("aria-disabled")).toBe("true");
    expect(control("Continue")?.title).toContain("still waits");
    const told = asked.querySelector("[role=status]");
    expect(told?.textContent).toBe("");
    focusRow("r1");
    await press("F10");
    expect(document.activeElement).toBe(asked);
    expect(told?.textContent).toContain("The call is not approved yet");
    for (const key of ["Enter", " ", "F10"]) await press(key);
    focusRow("r1");
    control("Step")?.click();
    await drawn();
    expect(document.activeElement).toBe(asked);
    expect(peer.inbox).toEqual([]);
  });
});

describe("a question that has only just come", () => {
  test("can't be approved by a click or key meant for the one before", async () => {
    const { peer, model, draw } = await shown([asking(1)]);
    await bar();
    await click("Approve");
    const first = peer.take("approve");
    const next = { ...waiting("r2"), rows: 2 };
    await peer.push("row", { run: "a", row: aRow(1, { ...CALL, approval: true }) });
    await peer.push("row", { run: "a", row: asking(2) });
    await peer.push("run", { run: next });
    await peer.answer(first, "ok", {});
    await draw();
    await drawn();
    expect(model.selectedRow.value).toBe("r2");
    await peer.answer(peer.take("get_message"), "message", aBody("r2", { approval: APPROVAL }));
    await vi.waitFor(() => expect(button("Approve")).toBeDefined());
    await drawn();
    expect(document.activeElement).not.toBe(button("Approve"));
    expect(button("Approve")?.title).toContain("read it first");
    const approved = () => peer.inbox.filter(({ type }) => type === "approve");
    await click("Approve");
    focusRow("r2");
    await press("a", { altKey: true, code: "KeyA" });
    expect(approved()).toEqual([]);
    await read();
    await click("Approve");
    expect(approved()).toHaveLength(1);
  });
});

describe("high risk", () => {
  const HIGH = { approval: { ...APPROVAL, risk: "high" } } as const;
  const group = () => box.querySelector<HTMLElement>("[role=group][aria-label^=Confirm]");

  test("needs a second gesture: another button with another key", async () => {
    const { peer } = await shown([asking(1)], { body: HIGH });
    await bar();
    await click("Approve…");
    expect(peer.inbox).toEqual([]);
    expect(document.activeElement).toBe(group()); // on no button
    expect(group()?.textContent).toContain("High risk: let rm happen?");
    expect(button("Approve…")).toBeUndefined();
    await click("Yes, approve rm"); // the second half of a double click, say
    expect(peer.inbox).toEqual([]);
    await read();
    for (const key of ["Enter", " ", "F10", "F9", "y"]) {
      group()?.focus();
      await press(key);
    }
    group()?.focus();
    await press("a", { altKey: true, code: "KeyA" });
    await press("a", { altKey: true, code: "KeyA" });
    expect(peer.inbox).toEqual([]);
    await click("Yes, approve rm");
    expect(peer.take("approve").body).toMatchObject({ confirmed: true, always: false });
  });

  test("is approved by keys alone: Alt+A, then Alt+Y", async () => {
    const { peer } = await shown([asking(1)], { body: HIGH });
    await bar();
    box.querySelector<HTMLInputElement>(".as-Always input")?.click();
    await drawn();
    focusRow("r1");
    await press("a", { altKey: true, code: "KeyA" });
    await press("y", { altKey: true, code: "KeyY" }); // too early to have been read
    expect(peer.inbox).toEqual([]);
    await read();
    expect(group()?.textContent).toContain("and allow from now on rm build/* in this workspace");
    await press("y", { altKey: true, code: "KeyY" });
    expect(peer.take("approve").body).toMatchObject({ confirmed: true, always: true });
  });

  test("Back and Esc take it back, and never put the focus on Approve", async () => {
    const { peer } = await shown([asking(1)], { body: HIGH });
    const asked = await bar();
    await click("Approve…");
    await click("Back");
    expect(group()).toBeNull();
    expect(document.activeElement).toBe(asked);
    await read();
    await click("Approve…");
    await press("Escape");
    expect(group()).toBeNull();
    expect(document.activeElement).toBe(asked);
    expect(peer.inbox).toEqual([]);
  });

  test("what is confirmed is what was seen: another edit asks anew", async () => {
    const { model, peer } = await shown([asking(1)], { body: HIGH });
    await bar();
    await click("Approve…");
    model.draft("r1").value = { text: '{"Tool": "rm", "Argument": "/"}', revision: 1 };
    await drawn();
    expect(group()).toBeNull();
    expect(button("Approve edited…")).toBeDefined();
    expect(peer.inbox).toEqual([]);
  });
});
