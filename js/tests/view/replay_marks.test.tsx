import { render } from "preact";
import { expect, test } from "vitest";
import type { Breakpoints } from "../../src/model/breakpoints";
import type { TimelineRow } from "../../src/protocol/types.gen";
import { Marks } from "../../src/view/timeline/row_marks";
import { box, useBox } from "../helpers/dom";
import { aRow } from "../helpers/values";

useBox();

type Replay = NonNullable<TimelineRow["replay"]>;

function draw(replay: Replay): HTMLElement | null {
  render(<Marks row={aRow(1, { replay })} breakpoints={{} as Breakpoints} />, box);
  return box.querySelector("span");
}

test.each<[Replay["role"], string]>([
  ["served", "Recorded"],
  ["entered", "Entered"],
  ["forked", "Forked"],
  ["live", "Live"],
  ["diverged", "Diverged"],
])("a row of a replay that is %s says so", (role, words) => {
  expect(draw({ role, note: "", halts: false })?.textContent).toBe(words);
});

test("a row of a replay says why", () => {
  const mark = draw({ role: "live", note: "Its result has secrets.", halts: false });
  expect(mark?.title).toContain("Its result has secrets.");
});
