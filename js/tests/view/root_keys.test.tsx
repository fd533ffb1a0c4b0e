import { describe, expect, test } from "vitest";
import { showing } from "../helpers/debugger";
import { box, drawn, press, useBox, useLayout } from "../helpers/dom";
import { button, dialog, draw, focusRow, halted } from "../helpers/root_view";
import { aRow, aRun } from "../helpers/values";

useLayout();
useBox();

describe("keys", () => {
  test.each([
    ["F10", {}, "over"],
    ["F11", {}, "into"],
    ["F11", { shiftKey: true }, "out"],
  ])("%s %o steps %s", async (key, held, kind) => {
    const { peer } = await draw(await halted());
    await focusRow("r2");
    peer.inbox.length = 0;
    await press(key, held);
    const sent = peer.take("step");
    expect(sent.body).toMatchObject({ breakpoint: "r2", target: { kind } });
    await peer.answer(sent, "ok", {});
  });

  test("F9 continues, F6 halts, Shift+F9 stops", async () => {
    const { peer } = await draw(await halted());
    await focusRow("r2");
    peer.inbox.length = 0;
    await press("F9", { shiftKey: true });
    await peer.answer(peer.take("stop"), "ok", {});
    await press("F6");
    expect(peer.inbox).toEqual([]); // halted already
    await press("F9");
    peer.take("continue");
  });

  test("the keys that step are the browser's where the agent isn't halted and doesn't step", async () => {
    const { peer } = await draw(
      await showing(aRun("a", { mode: "continue", state: "continue" }), []),
    );
    const view = box.querySelector<HTMLElement>(".as-View");
    view?.focus();
    peer.inbox.length = 0;
    for (const [key, ours] of [
      ["F11", false],
      ["F10", false],
      ["F9", false],
      ["F6", true],
    ] as const) {
      const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true });
      document.activeElement?.dispatchEvent(event);
      expect([key, event.defaultPrevented]).toEqual([key, ours]);
    }
    peer.take("halt");
    expect(peer.inbox).toEqual([]);
  });

  test("t runs to the next event like the selected one", async () => {
    const { model, peer } = await draw(await halted());
    model.select("r1");
    await focusRow("r1");
    peer.inbox.length = 0;
    await press("t");
    const { kind, side, name } = aRow(1);
    expect(peer.take("step").body).toMatchObject({
      breakpoint: "r2",
      target: { kind: "to", scope: [], event_kind: kind, side, name },
    });
  });

  test("letters act, but not in a text field; F keys act there too", async () => {
    const { model, peer, place } = await draw(await halted());
    await focusRow("r2");
    await press("2");
    expect(model.tab.value).toBe("changes");
    await press("/");
    expect((document.activeElement as HTMLElement).className).toContain("as-Filter");
    await press("?");
    await press("1");
    expect(place.overlay.value).toBeNull();
    peer.inbox.length = 0;
    await press("F10");
    peer.take("step");
  });

  test("e edits what is halted, Esc goes back to reading", async () => {
    const { model } = await draw(await halted());
    model.select("r1");
    await drawn();
    await focusRow("r1");
    await press("e");
    expect([model.selectedRow.value, model.editing.value]).toEqual(["r2", true]);
    await press("Escape");
    expect(model.editing.value).toBe(false);
  });

  test("Esc closes what lies over the view first", async () => {
    const { model, place } = await draw(await halted());
    await focusRow("r2");
    await press("?");
    expect((await dialog()).textContent).toContain("Step");
    model.editing.value = true;
    await press("Escape");
    expect([place.overlay.value, model.editing.value]).toEqual([null, true]);
  });

  test("letters typed while the editor is on its way do nothing: they are meant for it", async () => {
    const { model, place, peer } = await draw(await halted());
    await focusRow("r2");
    await press("e");
    expect(model.editing.value).toBe(true);
    peer.inbox.length = 0;
    for (const key of ["d", "n", "s", "2", "r", "o", "?", "e"]) await press(key);
    expect([model.tab.value, model.denying.value, model.notes.writing.value]).toEqual([
      "timeline",
      null,
      null,
    ]);
    expect([place.overlay.value, model.showOriginal.value, peer.inbox]).toEqual([null, false, []]);
    await press("Escape");
    await press("2");
    expect(model.tab.value).toBe("changes");
  });

  test("the focus stays in the view when what had it goes", async () => {
    const { model } = await draw(await halted());
    await focusRow("r2");
    await press("2");
    expect(document.activeElement?.textContent).toContain("Changes");
    await press("1");
    model.onError("stale", "too late");
    await drawn();
    button("Dismiss").focus();
    button("Dismiss").click();
    await drawn();
    expect((document.activeElement as HTMLElement).dataset.row).toBe("r2");
  });

  test("the focus is not taken from who has gone elsewhere", async () => {
    const { model } = await draw(await halted());
    const cell = document.body.appendChild(document.createElement("input"));
    await focusRow("r2");
    cell.focus();
    model.tab.value = "changes";
    await drawn();
    expect(document.activeElement).toBe(cell);
  });

  test.each<[string, KeyboardEventInit, boolean]>([
    ["x", {}, false],
    ["Enter", {}, false],
    ["f", { ctrlKey: true }, false],
    ["s", { ctrlKey: true }, true],
    ["b", { metaKey: true }, true],
    ["C", { ctrlKey: true, shiftKey: true }, true],
    ["Enter", { shiftKey: true }, true],
  ])("JupyterLab's own stay out, but for its chords: %s %j", async (key, chord, jupyters) => {
    await draw(await halted());
    await focusRow("r2");
    // As JupyterLab looks at it, at the document, before the view has the key.
    let kept: boolean | undefined;
    const look = () => {
      kept = document.activeElement?.closest("[data-lm-suppress-shortcuts]") !== null;
    };
    document.addEventListener("keydown", look, { capture: true, once: true });
    const init = { key, ...chord, bubbles: true, cancelable: true };
    document.activeElement?.dispatchEvent(new KeyboardEvent("keydown", init));
    expect(kept).toBe(!jupyters);
  });

  test("a field keeps the chords that write in it", async () => {
    await draw(await halted());
    const field = box.querySelector<HTMLElement>(".as-Filter");
    field?.focus();
    const kept = (key: string) => {
      const init = { key, ctrlKey: true, bubbles: true, cancelable: true };
      field?.dispatchEvent(new KeyboardEvent("keydown", init));
      return field?.closest("[data-lm-suppress-shortcuts]") !== null;
    };
    expect(["z", "a", "Enter", "s"].map(kept)).toEqual([true, true, true, false]);
  });
});
