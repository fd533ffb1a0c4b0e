import { signal } from "@preact/signals";
import { render } from "preact";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { approvalOutcomeText, MIN_READING_MS } from "../../src/approval/question";
import type { MessageBody, Run, TimelineRow } from "../../src/model/model";
import type { ViewPlacement } from "../../src/view/hooks";
import { Root } from "../../src/view/root";
import { aModel } from "../helpers/debugger";
import { drawn, press, useLayout } from "../helpers/dom";
import { aBody, aRow, haltedRun, pendingRow, rowsTo } from "../helpers/values";

/** Nothing is laid out here; `tests/e2e` looks at real places. */
const sight = vi.hoisted(() => ({ isInSight: true }));
vi.mock("../../src/view/focus", async (original) => ({
  ...(await original<typeof import("../../src/view/focus")>()),
  isInSight: () => sight.isInSight,
}));

useLayout();

/** What waits until a question has been read: the tests say when. */
const unread: (() => void)[] = [];

let box: HTMLElement;
beforeEach(() => {
  localStorage.clear();
  sight.isInSight = true;
  unread.length = 0;
  const later = globalThis.setTimeout;
  vi.spyOn(globalThis, "setTimeout").mockImplementation(((then: () => void, ms?: number) =>
    ms === MIN_READING_MS ? unread.push(then) : later(then, ms)) as typeof setTimeout);
  box = document.body.appendChild(document.createElement("div"));
});

const CALL = { kind: "tool_invocation", name: "rm", target: "tools" } as const;
const APPROVAL = {
  risk: "medium",
  why: "It deletes <b>files</b>.",
  rule: "`rm build/*` in this workspace",
} as const;
const asking = (seq: number, fields: Partial<TimelineRow> = {}) =>
  pendingRow(seq, { ...CALL, approval: true, summary: 'Asks: rm("build")', ...fields });
const waiting = (...pending: string[]): Run => ({
  ...haltedRun("a", ...pending),
  mode: "continue",
});

/** A view of these rows, of which the selected one's contents are here. */
async function shown(
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

const bar = async () => {
  const found = await vi.waitFor(() => {
    const found = box.querySelector<HTMLElement>("[aria-label=Approval]");
    if (!found) throw new Error("nothing is asked");
    return found;
  });
  await read();
  return found;
};
/** Let a question stand for as long as it takes to be read. */
const read = async () => {
  await drawn();
  for (const then of unread.splice(0)) then();
  await drawn();
};
const button = (name: string) =>
  [...box.querySelectorAll<HTMLButtonElement>(".as-Inspector button")].find(
    (each) => (each.getAttribute("aria-label") ?? each.textContent) === name,
  );
const field = () => box.querySelector<HTMLInputElement>(".as-Deny input");
const focusRow = (id: string) => box.querySelector<HTMLElement>(`[data-row="${id}"]`)?.focus();
const click = async (name: string) => {
  const found = button(name);
  if (!found) throw new Error(`no button ${name}`);
  found.focus();
  found.click();
  await drawn();
};
const marks = () =>
  [...box.querySelectorAll(".as-Row-marks [role=img]")].map((each) =>
    each.getAttribute("aria-label"),
  );

describe("what is asked", () => {
  test("stands under the call: the risk, why, and what always would allow", async () => {
    await shown([asking(1)]);
    const text = (await bar()).textContent;
    for (const words of ["medium risk", "It deletes <b>files</b>.", "rm build/*"])
      expect(text).toContain(words);
    expect(marks()).toEqual(["asks for approval"]);
    expect(box.querySelector(".as-Row-what")?.textContent).toBe('rm "build"');
    expect(box.querySelectorAll(".as-mod-primary")).toHaveLength(1);
    expect(button("Approve")?.classList).toContain("as-mod-primary");
  });

  test("is approved, once or always", async () => {
    const { peer } = await shown([asking(1)]);
    await bar();
    await click("Approve");
    const once = peer.take("approve");
    const plain = { edit: null, always: false, confirmed: false };
    expect(once.body).toMatchObject({ breakpoint: "r1", ...plain });
    expect(button("Approve")?.title).toBe("Your answer is on its way");
    await peer.refuse(once, "stale");
    await drawn();
    box.querySelector<HTMLInputElement>(".as-Always input")?.click();
    await drawn();
    await click("Approve");
    expect(peer.take("approve").body).toMatchObject({ always: true, confirmed: false });
  });

  test("can't always be allowed without a rule", async () => {
    await shown([asking(1)], { body: { approval: { ...APPROVAL, rule: null } } });
    await bar();
    expect(box.querySelector(".as-Always")).toBeNull();
  });

  test("isn't approved as it was edited while the original is shown", async () => {
    const { model, peer } = await shown([asking(1)]);
    await bar();
    model.draft("r1").value = { text: '{"Tool": "rm", "Argument": "dist"}', revision: 1 };
    model.showOriginal.value = true;
    await drawn();
    await click("Approve edited");
    expect(peer.inbox).toEqual([]);
    expect(button("Approve edited")?.title).toContain("The original is shown");
    model.showOriginal.value = false;
    await drawn();
    await click("Approve edited");
    peer.take("approve");
  });

  test("is approved as it was edited; not while that is no JSON", async () => {
    const { model, peer } = await shown([asking(1)]);
    await bar();
    model.draft("r1").value = { text: '{"Tool": "rm", "Argument": "dist"}', revision: 1 };
    await drawn();
    await vi.waitFor(() => expect(box.textContent).toContain("Approve sends it"));
    model.draftError.value = "line 1: no";
    await drawn();
    await click("Approve edited");
    expect(peer.inbox).toEqual([]);
    expect(button("Approve edited")?.title).toContain("line 1: no");
    model.draftError.value = null;
    await drawn();
    await click("Approve edited");
    expect(peer.take("approve").body).toMatchObject({ edit: expect.stringContaining("dist") });
  });

  test("is seen, and not answered, by who may only watch", async () => {
    await shown([asking(1)], { control: false });
    expect((await bar()).textContent).toContain("may watch");
    expect((await bar()).querySelectorAll("button, input")).toHaveLength(0);
    focusRow("r1");
    await press("d");
    expect(field()).toBeNull();
  });

  test("has its buttons held while the Core can't be reached", async () => {
    const { peer } = await shown([asking(1)]);
    await bar();
    await peer.drop();
    await drawn();
    expect(button("Approve")?.title).toBe("Not connected to the Core");
    expect(button("Deny…")?.getAttribute("aria-disabled")).toBe("true");
  });
});

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
    sight.isInSight = false;
    await press("a", APPROVE);
    expect(peer.inbox).toEqual([]);
    expect(document.activeElement).toBe(asked);
    expect(asked.querySelector("[role=status]")?.textContent).toContain(
      "The call is not approved yet",
    );
    sight.isInSight = true;
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

describe("a denial", () => {
  const deny = async (reason: string) => {
    focusRow("r1");
    await press("d");
    await vi.waitFor(() => expect(document.activeElement).toBe(field()));
    const input = field();
    if (!input) throw new Error("no field");
    input.value = reason;
    input.dispatchEvent(new Event("input", { bubbles: true }));
  };

  test("is written in one line; Enter sends it", async () => {
    const { peer } = await shown([asking(1)]);
    await bar();
    await deny(" Not here. ");
    await press("Enter");
    expect(peer.take("deny").body).toMatchObject({ breakpoint: "r1", reason: "Not here." });
  });

  test("is left by Esc for the button that began it, and what was written is kept", async () => {
    const { peer } = await shown([asking(1)]);
    await bar();
    await deny("Rather not");
    await press("Escape");
    expect(peer.inbox).toEqual([]);
    expect(document.activeElement).toBe(button("Deny…"));
    await click("Deny…");
    expect(field()?.value).toBe("Rather not");
  });

  test("that is refused stays as it was written", async () => {
    const { peer } = await shown([asking(1)]);
    await bar();
    await deny("No");
    await press("Enter");
    await peer.refuse(peer.take("deny"), "stale", "Somebody was faster.");
    await drawn();
    expect(field()?.value).toBe("No");
    expect(box.textContent).toContain("Somebody was faster.");
  });

  test("is possible before whatever has yet to happen", async () => {
    const { peer, model } = await shown([pendingRow(1)], {
      run: haltedRun("a", "r1"),
      body: { data: "null", approval: null },
    });
    box.querySelector<HTMLElement>('[aria-label^="Deny this prompt"]')?.click();
    await vi.waitFor(() => expect(document.activeElement).toBe(field()));
    await press("Escape");
    expect(field()).toBeNull();
    expect(model.denying.value).toBeNull();
    await deny("Ask me");
    await click("Deny");
    expect(peer.take("deny").body).toMatchObject({ breakpoint: "r1", reason: "Ask me" });
  });

  test("isn't possible of what has happened", async () => {
    await shown([pendingRow(1, { ...CALL, side: "end" })], { run: haltedRun("a", "r1") });
    focusRow("r1");
    await press("d");
    expect(field()).toBeNull();
  });
});

describe("what was answered", () => {
  test("is told with the reason", async () => {
    const denied = { answer: "deny", reason: "Never", summary: "Denied: Never" } as const;
    await shown([aRow(1, { ...CALL, ...denied, approval: true })], { body: { reason: "Never" } });
    const text = (await bar()).textContent;
    expect(text).toContain("Denied: Never");
    expect(text).toContain("medium risk");
    expect(marks()).toEqual(["denied: Never"]);
  });

  test("is a mark on its row", async () => {
    await shown([
      aRow(1, { ...CALL, approval: true }),
      aRow(2, { ...CALL, answer: "deny" }),
      aRow(3, { ...CALL, approval: true, answer: "withdrawn" }),
    ]);
    expect(marks()).toEqual(["approved", "denied"]);
  });

  test.each([
    ["resume", {}, "Approved"],
    ["resume", { always: true }, "Approved, and allowed from now on"],
    [
      "resume",
      { always: true, approval: { risk: "low", why: "", rule: "the network in this session" } },
      "Approved, and allowed from now on: the network in this session",
    ],
    ["deny", { reason: "No" }, "Denied: No"],
    ["deny", {}, "Denied, without a reason"],
    ["stop", {}, "The agent was stopped instead of an answer"],
    [null, {}, "Answered"],
  ] as const)("%s %o", (answer, fields, words) => {
    expect(
      approvalOutcomeText(answer, { reason: null, always: false, approval: null, ...fields }),
    ).toBe(words);
  });
});
