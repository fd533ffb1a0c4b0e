import { describe, expect, test, vi } from "vitest";
import { approvalOutcomeText } from "../../src/approval/question";
import {
  APPROVAL,
  asking,
  bar,
  box,
  button,
  CALL,
  click,
  field,
  focusRow,
  marks,
  shown,
  useApprovals,
} from "../helpers/approvals";
import { drawn, press } from "../helpers/dom";
import { aRow, haltedRun, pendingRow } from "../helpers/values";

useApprovals();

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
