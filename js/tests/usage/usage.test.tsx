import { render } from "preact";
import { describe, expect, test } from "vitest";
import type { ProfiledEvent, RunProfile } from "../../src/protocol/types.gen";
import { Usage } from "../../src/usage";
import { showing } from "../helpers/debugger";
import { box, drawn, useBox, useLayout } from "../helpers/dom";
import { aRow, aRun, aUsage } from "../helpers/values";

useLayout();

useBox();

const QUERY: ProfiledEvent = {
  seq: 1,
  kind: "llm_query",
  name: "gpt-x",
  scope: [],
  label: null,
  started_at: 1000,
  duration_s: 2,
  outcome: "ok",
  usage: aUsage(1000, 20),
  prompt: { system: 10, tools: 0, history: 80, new: 10 },
};

const PROFILE: RunProfile = { run: "a", events: [QUERY], first_row: 1 };

const KNOWN = {
  source: "genai-prices 1.0",
  models: [{ model: "gpt-x", input: 0.25, output: 2, context_window: 4000 }],
};

async function draw(profile = PROFILE, known: typeof KNOWN | { source: null; models: [] } = KNOWN) {
  const all = await showing(aRun("a"), [aRow(1)]);
  all.model.tab.value = "overview";
  render(<Usage model={all.model} />, box);
  await drawn();
  await until(() => all.peer.inbox.length > 0);
  await all.peer.answer(all.peer.take("get_profile"), "profile", profile);
  await drawn();
  if (profile.events.length > 0) {
    await until(() => all.peer.inbox.length > 0);
    await all.peer.answer(all.peer.take("get_model_info"), "model_info", known);
    await drawn();
  }
  return all;
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await drawn();
}

const button = (text: string) =>
  [...box.querySelectorAll("button")].find(({ textContent }) => textContent?.includes(text));

const fields = () => [...box.querySelectorAll<HTMLInputElement>(".as-Prices input")];

async function type(at: number, text: string): Promise<void> {
  const field = fields()[at];
  if (!field) throw new Error("there is no such field");
  field.value = text;
  field.dispatchEvent(new Event("input", { bubbles: true }));
  await drawn();
}

describe("what a run used", () => {
  test("is drawn, and each bar leads to its row", async () => {
    const { model } = await draw();
    const [column] = box.querySelectorAll<HTMLElement>(".as-TokensChart-column");
    expect(column?.getAttribute("aria-label")).toContain("1k tokens: 100 system");
    const [bar] = box.querySelectorAll<HTMLElement>(".as-TimeBar");
    expect(bar?.getAttribute("aria-label")).toBe("Row 1, LLM query gpt-x: 2.00 s");
    bar?.click();
    await drawn();
    expect(model.selectedRow.value).toBe("r1");
  });

  test("says that there is nothing", async () => {
    await draw({ ...PROFILE, events: [] });
    expect(box.textContent).toBe("Nothing was asked or called yet.");
  });
});

describe("prices", () => {
  test("are filled in from what is published, and used once they are saved", async () => {
    const { model, peer } = await draw();
    expect(fields().map(({ value }) => value)).toEqual(["", "", ""]);
    button("Fill in from genai-prices 1.0")?.click();
    await drawn();
    expect(fields().map(({ value }) => value)).toEqual(["0.25", "2", "4000"]);
    expect(model.contextWindow("gpt-x")).toBe(null);
    button("Save prices")?.click();
    await drawn();
    const sent = peer.take("set_prices");
    expect(sent.body.prices).toEqual([
      { model: "gpt-x", input: 0.25, output: 2, context_window: 4000 },
    ]);
    await peer.answer(sent, "ok", {});
    await drawn();
    expect(model.contextWindow("gpt-x")).toBe(4000);
    expect(button("Fill in")).toBeUndefined();
  });

  test("that aren't saved yet outlast a lost link", async () => {
    const { model, peer, opens } = await draw();
    await type(0, "1.5");
    const [field] = fields();
    await peer.drop();
    await drawn();
    expect(fields()[0]).toBe(field);
    model.retry();
    await peer.greet([aRun("a")]);
    await opens(aRun("a"), [aRow(1)]);
    await until(() => peer.inbox.some(({ type }) => type === "get_profile"));
    const asked = peer.inbox.find(({ type }) => type === "get_profile");
    if (asked) await peer.answer(asked, "profile", PROFILE);
    await drawn();
    expect([fields()[0], field?.value]).toEqual([field, "1.5"]);
  });

  test("that aren't amounts can't be saved", async () => {
    const { peer } = await draw();
    await type(0, "cheap");
    await type(1, "2");
    expect(fields()[0]?.getAttribute("aria-invalid")).toBe("true");
    button("Save prices")?.click();
    await drawn();
    expect(peer.inbox).toEqual([]);
  });

  test("that the Core refuses stay as they were typed, with the reason", async () => {
    const { peer } = await draw();
    await type(0, "1");
    await type(1, "2");
    button("Save prices")?.click();
    await drawn();
    await peer.refuse(peer.take("set_prices"), "busy", "The store is full.");
    await drawn();
    expect(box.querySelector("[role=alert]")?.textContent).toBe("The store is full.");
    expect(fields()[0]?.value).toBe("1");
  });

  test("without the package say how suggestions come", async () => {
    await draw(PROFILE, { source: null, models: [] });
    expect(box.textContent).toContain('pip install "agentstepper_nb[prices]"');
  });
});
