import { signal } from "@preact/signals";
import { render } from "preact";
import { expect, test } from "vitest";
import type { ViewPlacement } from "../../src/view/hooks";
import { Root } from "../../src/view/root";
import { aModel, showing } from "../helpers/debugger";
import { box, drawn, press, useBox, useLayout } from "../helpers/dom";
import { aNote, aRun, opened, rowsTo } from "../helpers/values";

useLayout();

useBox();

type Shown = Awaited<ReturnType<typeof showing>>;

async function draw(all: Shown) {
  const place: ViewPlacement = { shell: "inline", resizable: true, overlay: signal(null) };
  render(<Root model={all.model} place={place} />, box);
  await drawn();
  all.peer.inbox.length = 0;
  return all;
}

const area = () => box.querySelector<HTMLTextAreaElement>(".as-RowNote textarea");
const note = () => box.querySelector("[role=note]")?.textContent;
const marks = () =>
  [...box.querySelectorAll(".as-Row-marks [role=img]")].map((each) =>
    each.getAttribute("aria-label"),
  );

async function write(text: string) {
  box.querySelector<HTMLElement>(`.as-Row[tabindex="0"]`)?.focus();
  await press("n");
  const field = area();
  if (field) field.value = text;
}

test("a note stands above the contents, and on its row", async () => {
  await draw(await showing(aRun("a"), rowsTo(2), [], [aNote("r2", "<b>mind</b> this")]));
  expect(note()).toBe("<b>mind</b> this");
  expect(marks()).toEqual(["note: <b>mind</b> this"]);
});

test("n writes one, Ctrl+Enter keeps it", async () => {
  const { peer } = await draw(await showing(aRun("a"), rowsTo(2)));
  await write("mind this");
  expect(document.activeElement).toBe(area());
  await press("Enter", { ctrlKey: true });
  expect(area()).toBeNull();
  const sent = peer.take("note");
  expect(sent.body).toEqual({ run: "a", message: "r2", text: "mind this" });
  await peer.answer(sent, "ok", {});
  await drawn();
  expect(note()).toBe("mind this");
});

test("Esc drops what was written", async () => {
  const { peer } = await draw(await showing(aRun("a"), rowsTo(2), [], [aNote("r2", "old")]));
  await write("new");
  await press("Escape");
  expect(peer.inbox).toEqual([]);
  expect(note()).toBe("old");
});

test("leaving it keeps it: for another row, and for another run", async () => {
  const { model, peer } = await draw(await showing(aRun("a"), rowsTo(2)));
  await write("of the second");
  model.select("r1");
  await drawn();
  const second = peer.inbox.find(({ type }) => type === "note");
  expect(second?.body).toEqual({ run: "a", message: "r2", text: "of the second" });
  await peer.push("run", { run: aRun("b") });
  await write("of the first");
  peer.inbox.length = 0;
  void model.openRun("b");
  await peer.answer(peer.take("open_run"), "run_opened", opened(aRun("b"), { rows: rowsTo(2) }));
  await drawn();
  const first = peer.inbox.find(({ type }) => type === "note");
  expect(first?.body).toEqual({ run: "a", message: "r1", text: "of the first" });
});

test("who watches reads notes and writes none", async () => {
  const all = aModel();
  await all.peer.greet([aRun("a")], false);
  await all.opens(aRun("a"), rowsTo(2), [], [aNote("r2", "theirs")]);
  await draw(all);
  await write("mine");
  expect([area(), note()]).toEqual([null, "theirs"]);
  const held = box.querySelector('[aria-label="Change the note"]');
  expect(held?.getAttribute("aria-disabled")).toBe("true");
});

test("a note that isn't kept says so, and is tried again", async () => {
  const { model, peer } = await draw(await showing(aRun("a"), rowsTo(2)));
  await write("mind this");
  await press("Enter", { ctrlKey: true });
  await peer.drop();
  model.retry();
  await peer.greet([aRun("a")]);
  await peer.answer(peer.take("open_run"), "run_opened", opened(aRun("a"), { rows: rowsTo(2) }));
  await drawn();
  peer.inbox.length = 0;
  const again = [...box.querySelectorAll("button")].find(
    (each) => each.textContent === "Not stored",
  );
  again?.click();
  expect(peer.take("note").body.text).toBe("mind this");
});
