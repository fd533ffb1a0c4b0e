import { expect, test } from "vitest";
import { ruleOf } from "../../src/breakpoints/edit_rule_form";
import { addEditRuleLike, draftFromEditRule, newEditRule } from "../../src/model/edit_rule_draft";
import { type EditRule, editRuleText } from "../../src/model/edit_rules";
import type { TimelineRow } from "../../src/model/model";
import { showing } from "../helpers/debugger";
import { aRow, haltedRun, pendingRow } from "../helpers/values";

const RULE: EditRule = {
  id: "r",
  kind: "tool_invocation",
  side: "begin",
  path: "/Argument/limit",
  change: { kind: "set", value: "5" },
  program: "*",
  agent: null,
  name: "search",
  once: true,
  enabled: true,
};

const shown = () => showing(haltedRun("a", "r1"), [pendingRow(1, { name: "search" })]);

test("rules are those of the Core, as it says", async () => {
  const { model, peer, draw } = await shown();
  const { editRules } = model.breakpoints;
  await peer.push("edit_rule", { rule: RULE });
  await draw();
  expect([editRules.all.value, model.problem.value]).toEqual([[RULE], null]);
  await peer.push("edit_rule", { rule: { ...RULE, id: "other" } });
  await peer.push("edit_rule_gone", { rule: "other" });
  await draw();
  expect([editRules.all.value, model.problem.value]).toEqual([[RULE], null]);
  const setting = editRules.set({ ...RULE, enabled: false });
  const sent = peer.take("set_edit_rule");
  expect(sent.body).toEqual({ rule: { ...RULE, enabled: false } });
  await peer.answer(sent, "ok", {});
  expect(await setting).toBeNull();
  expect(editRules.all.value.map(({ enabled }) => enabled)).toEqual([false]);
  const deleting = editRules.delete("r");
  await peer.answer(peer.take("delete_edit_rule"), "ok", {});
  expect(await deleting).toBeNull();
  expect(editRules.all.value).toEqual([]);
  expect(editRules.describe(["r"])).toBe("(deleted)");
});

test("what is refused is told", async () => {
  const { model, peer } = await shown();
  const setting = model.breakpoints.editRules.set(RULE);
  await peer.refuse(peer.take("set_edit_rule"), "invalid_edit_rule", "No.");
  expect(await setting).toEqual({ code: "invalid_edit_rule", message: "No." });
});

test("a rule in words", () => {
  expect(editRuleText(RULE)).toBe("Before tool search, set /Argument/limit to 5, once");
  const replace = { kind: "replace", pattern: "a+", replacement: "" } as const;
  const query = {
    ...RULE,
    kind: "llm_query",
    name: null,
    agent: "r",
    path: "",
    once: false,
  } as const;
  expect(editRuleText({ ...query, change: replace })).toBe(
    "Before an LLM query by r, in all of it replace a+ by nothing",
  );
});

test("a draft is a rule again, and says what it lacks", () => {
  expect(ruleOf(draftFromEditRule(RULE), null)).toEqual(RULE);
  const lacks = (fields: Partial<ReturnType<typeof newEditRule>>) =>
    ruleOf(newEditRule({ path: "/Argument/x", value: "1", ...fields }), null);
  expect(lacks({ path: "x" })).toMatch("begins with /");
  expect(lacks({ path: "/Tool" })).toMatch("/Argument");
  expect(lacks({ path: "/Argument/" })).toMatch("Name the value");
  expect(lacks({ value: "{" })).toMatch("isn’t JSON");
  expect(lacks({ value: " " })).toMatch("Enter the value");
  expect(lacks({ change: "replace" })).toMatch("Enter a pattern");
});

test("a rule like a row begins in the Breakpoints tab", async () => {
  const { model } = await shown();
  const row = aRow(1, { kind: "tool_invocation", side: "begin", name: "search" }) as TimelineRow;
  addEditRuleLike(model, row, { path: "/Argument/a" });
  expect(model.tab.value).toBe("breakpoints");
  const draft = model.breakpoints.editRules.draft.value;
  expect([draft?.name, draft?.kind, draft?.path]).toEqual([
    "search",
    "tool_invocation",
    "/Argument/a",
  ]);
});

test("answers in a call's place name the row and its revision", async () => {
  const { model, peer } = await shown();
  const [row] = model.rows.value;
  if (!row) throw new Error("no row");
  const aim = { run: "a", breakpoint: "r1", revision: 1 };
  const skipping = model.skip(row, "[1.0]");
  const skipped = peer.take("skip");
  expect(skipped.body).toEqual({ ...aim, result: "[1.0]" });
  await peer.refuse(skipped, "stale", "Another view was faster.");
  expect(await skipping).toBe(false);
  expect(model.target.value?.id).toBe("r1");
  void model.raise(row, "no", "");
  const raised = peer.take("raise");
  expect(raised.body).toEqual({ ...aim, message: "no" });
  await peer.refuse(raised, "stale", "Another view was faster.");
  model.draft("r1").value = { text: "[1]", revision: 1 };
  const guiding = model.guide(row, "Look.");
  const guided = peer.take("guide");
  expect(guided.body).toEqual({ ...aim, edit: "[1]", text: "Look." });
  await peer.answer(guided, "ok", {});
  expect(await guiding).toBe(true);
  expect(model.draft("r1").value).toBeNull();
});

test("what is edited while a prompt's new message is on its way stays", async () => {
  const { model, peer } = await shown();
  const [row] = model.rows.value;
  if (!row) throw new Error("no row");
  model.draft("r1").value = { text: "[1]", revision: 1 };
  const guiding = model.guide(row, "Look.");
  model.draft("r1").value = { text: "[1, 2]", revision: 1 };
  await peer.answer(peer.take("guide"), "ok", {});
  expect(await guiding).toBe(true);
  expect(model.draft("r1").value?.text).toBe("[1, 2]");
});
