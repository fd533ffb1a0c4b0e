import { render } from "preact";
import { expect, test, vi } from "vitest";
import { AnswerForm } from "../../src/answers/forms";
import type { TimelineRow } from "../../src/model/model";
import { box, drawn, useBox } from "../helpers/dom";
import { queriesOf } from "../helpers/queries";
import { type FakeModel, fakeModel, row } from "../inspector/fake_model";

useBox();

const { one, button, click, type } = queriesOf(() => box, drawn);
const result = () => one("textarea") as HTMLTextAreaElement;
const notation = () => one('[role="tab"][aria-selected="true"]').textContent;

async function show(model: FakeModel, pending: TimelineRow): Promise<void> {
  render(<AnswerForm id="form" name="skip" model={model} row={pending} onClose={() => {}} />, box);
  await drawn();
}

async function lookElsewhere(): Promise<void> {
  render(null, box);
  await drawn();
}

const call = (id: string) =>
  row({ id, kind: "tool_invocation", name: "ask", pending: true, seq: 9 });
const query = (id: string) => row({ id, kind: "llm_query", name: "gpt", pending: true, seq: 9 });

test("a result that was written as JSON comes back as JSON, and is sent as JSON", async () => {
  const [model, pending] = [fakeModel(), call("forms-json")];
  model.skip = vi.fn(async () => true);
  await show(model, pending);
  await click(button("JSON"));
  await type(result(), '{"ok": true}');
  await lookElsewhere();
  await show(model, pending);
  expect([notation(), result().value]).toEqual(["JSON", '{"ok": true}']);
  await click(button("Skip the call"));
  expect(model.skip).toHaveBeenCalledWith(pending, '{"ok": true}');
  await lookElsewhere();
  await show(model, pending);
  expect([notation(), result().value]).toEqual(["Text", ""]);
});

test("a query's answer that was written as text comes back as text", async () => {
  const [model, pending] = [fakeModel(), query("forms-text")];
  await show(model, pending);
  expect(notation()).toBe("JSON");
  await click(button("Text"));
  await type(result(), "Not JSON");
  await lookElsewhere();
  await show(model, pending);
  expect([notation(), result().value]).toEqual(["Text", "Not JSON"]);
});

test("what was written from the last result keeps that result's notation", async () => {
  const last = row({ id: "last", kind: "tool_invocation", name: "ask", side: "end", seq: 2 });
  const pending = call("forms-template");
  const model = fakeModel([
    [last, { data: '{"n": 1}' }],
    [pending, { data: "{}" }],
  ]);
  await show(model, pending);
  expect(notation()).toBe("JSON");
  await lookElsewhere();
  await show(model, pending);
  await type(result(), '{"n": 2}');
  await lookElsewhere();
  await show(model, pending);
  expect([notation(), result().value]).toEqual(["JSON", '{"n": 2}']);
});
