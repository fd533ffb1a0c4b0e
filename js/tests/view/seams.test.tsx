import { signal } from "@preact/signals";
import { render } from "preact";
import { describe, expect, test, vi } from "vitest";
import type { Run, RunSeams } from "../../src/protocol/types.gen";
import type { ViewPlacement } from "../../src/view/hooks";
import { Root } from "../../src/view/root";
import { showing } from "../helpers/debugger";
import { box, drawn, press, useBox, useLayout } from "../helpers/dom";
import { aRow, aSeam, haltedRun, pendingRow } from "../helpers/values";

useLayout();

useBox();

const SEAMS: RunSeams = {
  seams: [aSeam("httpx", "0.28.1", { kind: "queries" })],
  tools: [
    { name: "add", found_by: "discovery" },
    { name: "ls", found_by: "hand" },
  ],
  discovery_off_reason: "",
};

async function draw(seams?: RunSeams) {
  const run: Run = { ...haltedRun("a", "r2"), ...(seams && { seams }) };
  const all = await showing(run, [aRow(1), pendingRow(2)]);
  const place: ViewPlacement = { shell: "inline", resizable: true, overlay: signal(null) };
  render(<Root model={all.model} place={place} />, box);
  await drawn();
  return { ...all, place };
}

const item = () => box.querySelector<HTMLButtonElement>(".as-SeamsButton");

/** What the list says, line by line. */
async function opened(): Promise<(string | null)[]> {
  item()?.click();
  await drawn();
  return vi.waitFor(() => {
    const list = box.querySelector("[role=dialog][aria-label='Seams and tools']");
    if (!list) throw new Error("there is no list");
    return [...list.querySelectorAll("h3, li, p")].map(({ textContent }) => textContent);
  });
}

describe("the seams of a run", () => {
  test("are an item in the header, and a list under it", async () => {
    await draw(SEAMS);
    expect(item()?.getAttribute("aria-label")).toBe("Seams: 1 active, 2 tools");
    expect(item()?.textContent).toBe("2");
    expect(await opened()).toEqual([
      "Halts without a change to the agent",
      "httpx 0.28.1LLM queries",
      "Tools",
      "adddiscovery",
      "lsby hand",
    ]);
    expect(item()?.getAttribute("aria-expanded")).toBe("true");
  });

  test("Esc closes the list and gives the focus back", async () => {
    const { place } = await draw(SEAMS);
    await opened();
    await press("Escape");
    expect(place.overlay.value).toBeNull();
    expect(document.activeElement).toBe(item());
  });

  test("a press elsewhere closes the list", async () => {
    const { place } = await draw(SEAMS);
    await opened();
    document.body.dispatchEvent(new Event("pointerdown", { bubbles: true }));
    expect(place.overlay.value).toBeNull();
  });

  test("that a library can't be wrapped is seen on the item, and why in the list", async () => {
    const failed = aSeam("mcp", "3.0", {
      is_active: false,
      has_failed: true,
      reason: "This version can't be wrapped: KeyError.",
    });
    await draw({ seams: [...SEAMS.seams, failed], tools: [], discovery_off_reason: "Off." });
    expect(item()?.getAttribute("aria-label")).toBe("Seams: 1 active, 1 failed, 0 tools");
    expect(item()?.className).toContain("as-mod-bad");
    const lines = await opened();
    expect(lines).toContain("mcp 3.0tool callsThis version can't be wrapped: KeyError.");
    expect(lines).toContain("None was found or called so far.");
    expect(lines.at(-1)).toBe("Off.");
  });

  test.each([undefined, { ...SEAMS, seams: [] }])("nothing is shown of %j", async (seams) => {
    await draw(seams);
    expect(item()).toBeNull();
  });

  test("a tool that is found later is counted", async () => {
    const all = await draw(SEAMS);
    const tools = [...SEAMS.tools, { name: "mul", found_by: "wire" } as const];
    await all.peer.push("run", { run: { ...haltedRun("a", "r2"), seams: { ...SEAMS, tools } } });
    await all.draw();
    await drawn();
    expect(item()?.textContent).toBe("3");
    expect(await opened()).toContain("mulwire inference");
  });

  test("names and reasons are read as text, with what hides in them shown", async () => {
    const tools = [{ name: "<b>a\u202e</b>", found_by: "adapter" } as const];
    await draw({ ...SEAMS, tools });
    const lines = await opened();
    expect(lines.at(-1)).toContain("<b>a");
    expect(lines.at(-1)).not.toContain("\u202e");
  });
});
