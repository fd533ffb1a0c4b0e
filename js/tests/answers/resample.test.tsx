import { render } from "preact";
import { afterEach, expect, test, vi } from "vitest";
import { samplesOf } from "../../src/answers/query_samples";
import { ResampleForm } from "../../src/answers/resample";
import type { SampledAnswer } from "../../src/protocol/types.gen";
import { box, drawn, useBox } from "../helpers/dom";
import { queriesOf } from "../helpers/queries";
import { fakeModel, row } from "../inspector/fake_model";

useBox();
const { all, button, click } = queriesOf(() => box, drawn);
afterEach(() => {
  samplesOf("b").answers.value = [];
});

const answer = (action: string): SampledAnswer => ({
  data: `"${action}"`,
  action,
  summary: action,
  left: 10,
  usage: null,
  failure: null,
});

async function asked() {
  const halted = row({ id: "b", side: "end", pending: true });
  const model = fakeModel([[halted, { data: "1" }]]);
  model.inspection.sampling = vi.fn(async () => ({ left: 12 }));
  samplesOf("b").answers.value = [answer("one"), answer("two")];
  render(<ResampleForm model={model} row={halted} onClose={() => {}} />, box);
  await drawn();
  for (const fold of all(".as-Fold")) await click(fold);
  return { model, draft: model.draft("b") };
}
const takes = () => all("button").filter(({ textContent }) => textContent === "Take this answer");

test("an answer becomes the draft, and another one in its place", async () => {
  const { draft } = await asked();
  await click(takes()[0] as HTMLElement);
  expect(draft.value?.text).toBe('"one"');
  await click(takes()[1] as HTMLElement);
  expect(draft.value?.text).toBe('"two"');
});

test("an answer takes no draft's place that a person wrote", async () => {
  const { draft } = await asked();
  draft.value = { text: '"my own"', revision: 1 };
  await drawn();
  expect(button("Take this answer").title).toContain("it would be overwritten");
  await click(takes()[0] as HTMLElement);
  expect(draft.value.text).toBe('"my own"');
  draft.value = null;
  await drawn();
  await click(takes()[0] as HTMLElement);
  expect(draft.value).toMatchObject({ text: '"one"' });
});
