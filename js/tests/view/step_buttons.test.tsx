import { signal } from "@preact/signals";
import { render } from "preact";
import { describe, expect, test } from "vitest";
import { Root } from "../../src/view/root";
import { showing } from "../helpers/debugger";
import { box, drawn, press, useBox, useLayout } from "../helpers/dom";
import { queriesOf } from "../helpers/queries";
import { aRow, haltedRun, pendingRow } from "../helpers/values";

useLayout();
useBox();

const { button } = queriesOf(() => box, drawn);

async function draw(...rows: Parameters<typeof showing>[1] & object) {
  const shown = await showing(haltedRun("a", `r${rows.length}`), rows);
  const overlay = signal(null);
  render(<Root model={shown.model} place={{ shell: "inline", resizable: true, overlay }} />, box);
  await drawn();
  shown.peer.inbox.length = 0;
  return shown;
}

const items = () => [...box.querySelectorAll<HTMLElement>("[role^=menuitem]")];
const texts = () => items().map((each) => each.textContent);

async function openMenu(): Promise<void> {
  button("Run to an event").click();
  await drawn();
}

test.each([
  ["Step", "into"],
  ["Step over", "over"],
  ["Step out", "out"],
])("%s steps %s", async (name, kind) => {
  const { peer } = await draw(aRow(1), pendingRow(2));
  button(name).click();
  expect(peer.take("step").body).toMatchObject({ breakpoint: "r2", target: { kind } });
});

test("each step carries the edit that is drafted", async () => {
  const { peer, model } = await draw(aRow(1), pendingRow(2));
  model.draft("r2").value = { text: "1", revision: 1 };
  await drawn();
  expect(button("Step over").title).toContain("sending your edit");
  button("Step over").click();
  expect(peer.take("step").body).toMatchObject({ edit: "1", target: { kind: "over" } });
});

describe("the menu", () => {
  test("runs to the next query and to the next tool", async () => {
    for (const [name, kind] of [
      ["Next query", "llm_query"],
      ["Next tool", "tool_invocation"],
    ] as const) {
      const { peer } = await draw(aRow(1), pendingRow(2));
      await openMenu();
      items()
        .find((each) => each.textContent === name)
        ?.click();
      await drawn();
      const target = { kind: "to", event_kind: kind, side: "begin" };
      expect(peer.take("step").body).toMatchObject({ breakpoint: "r2", target });
      expect(items()).toEqual([]);
      expect(document.activeElement).toBe(button("Run to an event"));
    }
  });

  test("runs to here: to the next event like the selected one", async () => {
    const { peer, model } = await draw(
      aRow(1, { kind: "tool_invocation", name: "ls", side: "end" }),
      pendingRow(2),
    );
    model.select("r1");
    await openMenu();
    peer.inbox.length = 0; // the selected row's contents
    expect(texts()[0]).toContain("Run to here next end of ls");
    items()[0]?.click();
    const target = { kind: "to", event_kind: "tool_invocation", side: "end", name: "ls" };
    expect(peer.take("step").body).toMatchObject({ target: { ...target, scope: [] } });
  });

  test("goes by the arrow keys, and Esc closes it", async () => {
    await draw(aRow(1), pendingRow(2));
    await openMenu();
    expect(document.activeElement).toBe(items()[0]);
    await press("ArrowDown");
    expect(document.activeElement).toBe(items()[1]);
    await press("End");
    await press("ArrowDown");
    expect(document.activeElement).toBe(items()[0]);
    await press("Escape");
    expect(items()).toEqual([]);
    expect(document.activeElement).toBe(button("Run to an event"));
  });

  test("has the switch that freezes others only where a run has several lanes", async () => {
    await draw(aRow(1), pendingRow(2));
    await openMenu();
    expect(texts()).toHaveLength(3);
    const { peer, model } = await draw(
      aRow(1, { scope: ["agent:a:1"] }),
      pendingRow(2, { scope: ["agent:b:1"] }),
    );
    await openMenu();
    const freeze = items().at(-1);
    expect([freeze?.textContent, freeze?.getAttribute("aria-checked")]).toEqual([
      "Freeze others",
      "false",
    ]);
    freeze?.click();
    await drawn();
    expect(items().at(-1)?.getAttribute("aria-checked")).toBe("true");
    expect(model.freezesOthers.value).toBe(true);
    button("Step").click();
    expect(peer.take("step").body).toMatchObject({ target: { freeze_others: true } });
  });
});

describe("the menu at a row", () => {
  const open = async (id: string, how: MouseEventInit = {}) => {
    const event = new MouseEvent("contextmenu", { bubbles: true, cancelable: true, ...how });
    box.querySelector(`[data-row="${id}"]`)?.dispatchEvent(event);
    await drawn();
    return event.defaultPrevented;
  };

  test("runs to the next event like that row", async () => {
    const { peer, model } = await draw(aRow(1, { name: "m" }), pendingRow(2));
    expect(await open("r1")).toBe(true);
    expect(model.selectedRow.value).toBe("r1");
    expect(document.activeElement).toBe(items()[0]);
    peer.inbox.length = 0;
    await press("Enter");
    const target = { kind: "to", event_kind: "llm_query", side: "begin", name: "m" };
    expect(peer.take("step").body).toMatchObject({ breakpoint: "r2", target });
    expect(items()).toEqual([]);
  });

  test("closes by Esc, and gives the row the focus back", async () => {
    await draw(aRow(1), pendingRow(2));
    await open("r1");
    await press("Escape");
    expect(items()).toEqual([]);
    expect((document.activeElement as HTMLElement).dataset.row).toBe("r1");
  });

  test("is the browser's with Shift, and where a run can't halt again", async () => {
    await draw(aRow(1, { kind: "program_started" }), pendingRow(2));
    expect(await open("r1")).toBe(false);
    expect(await open("r2", { shiftKey: true })).toBe(false);
    expect(items()).toEqual([]);
  });
});

test("a row runs to the next event like it", async () => {
  const { peer } = await draw(aRow(1, { name: "m" }), pendingRow(2));
  button("Run to the next event like 1").click();
  const target = { kind: "to", event_kind: "llm_query", side: "begin", name: "m" };
  expect(peer.take("step").body).toMatchObject({ breakpoint: "r2", target });
});
