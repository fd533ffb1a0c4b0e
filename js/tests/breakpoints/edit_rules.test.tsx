/** Edit rules in the Breakpoints tab: deleting one, and the form's dry run. */
import { describe, expect, test } from "vitest";
import type { EditRule } from "../../src/model/edit_rules";
import { useLayout } from "../helpers/dom";
import { box, button, click, drawn, pause, press, RUN, renderTab, write } from "./render";

useLayout();

const RULE: EditRule = {
  id: "limit",
  kind: "tool_invocation",
  side: "begin",
  path: "/Argument/limit",
  change: { kind: "set", value: "5" },
  program: "*",
  agent: null,
  name: "search",
  once: false,
  enabled: true,
};
const OTHER: EditRule = { ...RULE, id: "other", name: "read" };

async function listed() {
  const all = await renderTab();
  await pause();
  all.peer.take("try_stop"); // the bar's own
  for (const rule of [RULE, OTHER]) await all.peer.push("edit_rule", { rule });
  await all.draw();
  await drawn();
  return all;
}

const rule = (id: string) => box.querySelector<HTMLElement>(`[data-rule="${id}"]`) as HTMLElement;
const bin = (id: string) => button("Delete the rule", rule(id));
const confirmed = (id: string) => button("Delete", rule(id).querySelector("div + div") ?? rule(id));

describe("a rule is deleted", () => {
  test("once that is confirmed; the focus goes on, and what was being changed of it goes", async () => {
    const { model, peer } = await listed();
    await click(button("Edit the rule", rule("limit")));
    await click(bin("limit"));
    await click(confirmed("limit"));
    const sent = peer.take("delete_edit_rule");
    expect(sent.body).toEqual({ rule: "limit" });
    expect(confirmed("limit").title).toBe("The rule is being deleted");
    await click(confirmed("limit"));
    expect(peer.inbox).toEqual([]);
    await peer.answer(sent, "ok", {});
    await drawn();
    expect(rule("limit")).toBeNull();
    expect(box.querySelector(".as-EditRuleForm")).toBeNull();
    expect(model.breakpoints.editRules.draft.value).toBeNull();
    expect(document.activeElement).toBe(box.querySelector(".as-EditRules-add"));
  });

  test("without touching the draft of another", async () => {
    const { model, peer } = await listed();
    await click(button("Edit the rule", rule("other")));
    await click(bin("limit"));
    await click(confirmed("limit"));
    await peer.answer(peer.take("delete_edit_rule"), "ok", {});
    await drawn();
    expect(model.breakpoints.editRules.draft.value?.id).toBe("other");
  });

  test("not by Escape or Keep, nor where the Core refuses: the bin has the focus again", async () => {
    const { peer } = await listed();
    await click(bin("limit"));
    expect(document.activeElement?.textContent).toBe("Keep");
    await press("Escape");
    expect(document.activeElement).toBe(bin("limit"));
    await click(bin("limit"));
    await click(button("Keep"));
    expect(document.activeElement).toBe(bin("limit"));
    expect(peer.inbox).toEqual([]);
    await click(bin("limit"));
    await click(confirmed("limit"));
    await peer.refuse(peer.take("delete_edit_rule"), "store_full", "The store is full.");
    await drawn();
    expect(document.activeElement).toBe(bin("limit"));
    expect(box.querySelector("[role=alert]")?.textContent).toContain("The store is full.");
  });
});

describe("the form", () => {
  async function edited() {
    const all = await listed();
    await click(button("Edit the rule", rule("limit")));
    await pause();
    return all;
  }
  const preview = () => box.querySelector(".as-EditRuleForm")?.textContent;
  const outcome = (total: number) => ({
    outcomes: [{ run: RUN.id, rows: 13, edits: [], total, error: null }],
  });

  test("sets nothing by the Enter that ends a composition", async () => {
    const { peer } = await edited();
    peer.inbox.length = 0;
    await write("Name of the tool or model", "検索");
    const { activeElement } = document;
    const enter = { key: "Enter", isComposing: true, bubbles: true };
    activeElement?.dispatchEvent(new KeyboardEvent("keydown", enter));
    await drawn();
    expect(peer.inbox).toEqual([]);
    await press("Enter");
    expect(peer.take("set_edit_rule").body.rule.name).toBe("検索");
  });

  test("tries the rule again as the run is stepped", async () => {
    const all = await edited();
    await all.peer.answer(all.peer.take("try_edit_rule"), "edit_rule_tried", outcome(2));
    await drawn();
    expect(preview()).toContain("Would have edited 2 rows");
    await all.peer.push("run", { run: { ...RUN, rows: 14 } });
    await all.draw();
    await drawn();
    expect(preview()).toContain("2 rows"); // until the next answer
    await pause();
    all.peer.take("try_stop");
    await all.peer.answer(all.peer.take("try_edit_rule"), "edit_rule_tried", outcome(3));
    await drawn();
    expect(preview()).toContain("Would have edited 3 rows");
  });

  test("tries the rule again once the link is back, and not while the tab is hidden", async () => {
    const all = await edited();
    await all.peer.drop();
    await drawn();
    expect(box.querySelector(".as-EditRuleForm [role=alert]")).not.toBeNull();
    all.timers.pass(60_000);
    await all.peer.greet([RUN]);
    await drawn();
    all.peer.inbox.length = 0;
    await pause();
    const asked = all.peer.inbox.find(({ type }) => type === "try_edit_rule");
    if (!asked) throw new Error("the rule isn't tried");
    await all.peer.answer(asked, "edit_rule_tried", outcome(4));
    await drawn();
    expect(preview()).toContain("Would have edited 4 rows");
    all.peer.inbox.length = 0;
    all.model.tab.value = "timeline";
    await drawn();
    await pause();
    expect(all.peer.inbox).toEqual([]);
  });
});
