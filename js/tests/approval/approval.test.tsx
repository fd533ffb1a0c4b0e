import { signal } from "@preact/signals";
import { render } from "preact";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { outcome } from "../../src/approval/words";
import type { MessageBody, Row, Run } from "../../src/model/model";
import type { Place } from "../../src/view/place";
import { Root } from "../../src/view/root";
import { aModel } from "../helpers/debugger";
import { drawn, press, useLayout } from "../helpers/dom";
import { aBody, aRow, haltedRun, pendingRow, rowsTo } from "../helpers/values";

useLayout();

let box: HTMLElement;
beforeEach(() => {
  localStorage.clear();
  box = document.body.appendChild(document.createElement("div"));
});

const CALL = { kind: "tool_invocation", name: "rm", target: "tools" } as const;
const APPROVAL = { risk: "high", why: "It deletes <b>files</b>.", rule: "rm build/*" } as const;
const asking = (seq: number, fields: Partial<Row> = {}) =>
  pendingRow(seq, { ...CALL, approval: true, summary: 'Asks: rm("build")', ...fields });
const waiting = (...pending: string[]): Run => ({
  ...haltedRun("a", ...pending),
  mode: "continue",
});

/** A view of these rows, of which the selected one's contents are here. */
async function shown(
  rows: Row[],
  { run, body, control = true }: { run?: Run; body?: Partial<MessageBody>; control?: boolean } = {},
) {
  const all = aModel();
  const pending = rows.filter((row) => row.pending).map(({ id }) => id);
  const shownRun = run ?? waiting(...pending);
  await all.peer.greet([shownRun], control);
  await all.opens(shownRun, rows);
  const place: Place = { shell: "inline", resizable: true, overlay: signal(null) };
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

const bar = () =>
  vi.waitFor(() => {
    const found = box.querySelector<HTMLElement>("[aria-label=Approval]");
    if (!found) throw new Error("nothing is asked");
    return found;
  });
const button = (name: string) =>
  [...box.querySelectorAll<HTMLButtonElement>(".as-Inspector button")].find(
    (each) => each.textContent === name,
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
    for (const words of ["high risk", "It deletes <b>files</b>.", "rm build/*"])
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
    expect(once.body).toMatchObject({ breakpoint: "r1", edit: null, always: false });
    expect(button("Approve")?.title).toBe("Your answer is on its way");
    await peer.refuse(once, "stale");
    await drawn();
    box.querySelector<HTMLInputElement>(".as-Always input")?.click();
    await drawn();
    await click("Approve");
    expect(peer.take("approve").body).toMatchObject({ always: true });
  });

  test("can't always be allowed without a rule", async () => {
    await shown([asking(1)], { body: { approval: { ...APPROVAL, rule: null } } });
    await bar();
    expect(box.querySelector(".as-Always")).toBeNull();
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
  test("a approves what is shown; what isn't is shown first", async () => {
    const { model, peer, read } = await shown([...rowsTo(1), asking(2)]);
    await bar();
    model.select("r1");
    await drawn();
    focusRow("r1");
    await press("a");
    expect(model.selectedRow.value).toBe("r2");
    await read();
    expect(peer.inbox.map(({ type }) => type)).not.toContain("approve");
    await bar();
    await press("a");
    expect(peer.take("approve").body).toMatchObject({ breakpoint: "r2" });
  });

  test("a does nothing where nothing is asked", async () => {
    const { peer } = await shown([pendingRow(1, CALL)], {
      run: haltedRun("a", "r1"),
      body: { approval: null },
    });
    focusRow("r1");
    await press("a");
    expect(peer.inbox).toEqual([]);
  });

  test("F10 steps, which approves; the header says so, and that Continue doesn't", async () => {
    const { peer } = await shown([asking(1), pendingRow(2)], { run: haltedRun("a", "r1", "r2") });
    await bar();
    const hint = (name: string) =>
      [...box.querySelectorAll<HTMLElement>(".as-Controls button")].find(
        (each) => each.textContent === name,
      )?.title;
    expect(hint("Step")).toContain("Approve this");
    expect(hint("Continue")).toContain("still waits");
    focusRow("r1");
    await press("F10");
    expect(peer.take("step").body).toMatchObject({ breakpoint: "r1" });
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
    expect(text).toContain("high risk");
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
    ["resume", { always: true }, "Approved, and always from now on"],
    ["deny", { reason: "No" }, "Denied: No"],
    ["deny", {}, "Denied, without a reason"],
    ["stop", {}, "The agent was stopped instead of an answer"],
    [null, {}, "Answered"],
  ] as const)("%s %o", (answer, fields, words) => {
    expect(outcome(answer, { reason: null, always: false, ...fields })).toBe(words);
  });
});
