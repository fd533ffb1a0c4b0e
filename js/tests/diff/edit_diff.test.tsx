import { render } from "preact";
import { expect, test } from "vitest";
import { EditDiff } from "../../src/diff/edit_diff";
import { box, drawn, useBox } from "../helpers/dom";

useBox();

const prompt = (...texts: string[]) =>
  JSON.stringify({ messages: texts.map((content) => ({ role: "user", content })) });

const PROPS = {
  shape: "prompt",
  original: prompt("Fix the bug."),
  edited: prompt("Fix the bug.", "Be brief."),
  originalNote: "",
  editedTitle: "Edited",
  editedNote: "",
} as const;

test("only a draft is said to be the person's own", async () => {
  render(<EditDiff {...PROPS} />, box);
  await drawn();
  expect(box.textContent).toContain(" added");
  expect(box.textContent).not.toContain("by you");
  render(<EditDiff {...PROPS} isDraft />, box);
  await drawn();
  expect(box.textContent).toContain(" added by you");
});
