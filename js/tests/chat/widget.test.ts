/** The widget's module: the kernel's chat by the widget's comm. */
import { afterEach, beforeEach, expect, test } from "vitest";
import chat from "../../src/chat/widget";
import { aSession } from "../helpers/chat_messages";
import { FakeModel } from "../helpers/comm";
import { drawn } from "../helpers/dom";
import { TestTimers } from "../helpers/peer";

beforeEach(() => sessionStorage.clear());
afterEach(() => document.body.replaceChildren());

async function widget(traits = {}) {
  const model = new FakeModel({
    session: "s",
    height: 520,
    direct: false,
    page: "",
    command: "agentstepper step --run {run}",
    ...traits,
  });
  const shell = chat(new TestTimers());
  const end = shell.initialize({ model });
  const el = document.body.appendChild(document.createElement("div"));
  shell.render({ model, el });
  await drawn();
  return { model, el, end };
}

/** The kernel says something. */
async function say(model: FakeModel, n: number, type: string, body: object, id?: string) {
  const link = model.inbox.find(({ op }) => op === "open")?.link;
  model.say({ link, op: "texts", texts: [JSON.stringify({ n, type, body, ...(id && { id }) })] });
  await drawn();
}

const asked = (model: FakeModel) =>
  model.inbox.filter(({ op }) => op === "text").map(({ text }) => JSON.parse(text ?? ""));

async function begun(traits = {}) {
  const made = await widget(traits);
  const { model } = made;
  await say(model, 1, "welcome", { version: 1, core: "0.1", control: true });
  const watch = asked(model).find(({ body }) => body.method === "watch");
  const event = { event: "begin", session: aSession({ run_id: "r $& 1" }), messages: [] };
  await say(model, 2, "item", { value: { n: 1, event } }, watch.id);
  return { ...made, watch };
}

test("anywidget finds a default export, and nothing called render", async () => {
  expect(Object.keys(await import("../../src/chat/widget"))).toEqual(["default"]);
});

test("through the kernel it needs nothing of the page", async () => {
  const { el, watch } = await begun();
  expect(watch.body).toMatchObject({ service: "chat", params: { session: "s" }, window: 64 });
  expect(el.querySelector(".as-State")?.textContent).toBe("Ready");
});

test("where no page shows its runs, it says what to type", async () => {
  const { el } = await begun();
  el.querySelector<HTMLElement>('[aria-label="Open the run in the debugger"]')?.click();
  await drawn();
  expect(el.querySelector("code")?.textContent).toBe("agentstepper step --run r $& 1");
});

test("a Core that began after the view was drawn is the one whose run is opened", async () => {
  const { model, el } = await begun();
  model.traits.command = "%agentstepper";
  el.querySelector<HTMLElement>('[aria-label="Open the run in the debugger"]')?.click();
  await drawn();
  expect(el.querySelector("code")?.textContent).toBe("%agentstepper");
});

test("a kernel that is gone is said with what to do", async () => {
  const { model, el } = await begun();
  model.trigger("comm:close");
  await drawn();
  expect(el.querySelector(".as-ChatNews")?.textContent).toContain("Run the chat’s cells again");
});

test("its end closes its link", async () => {
  const { model, end } = await begun();
  end();
  expect(model.inbox.at(-1)?.op).toBe("close");
  expect(model.listeners).toBe(0);
});
