/** Widgets that ask a Core's runtime: straight to the page's server, or through the kernel. */
import { afterEach, describe, expect, test, vi } from "vitest";
import fleet from "../../src/fleet/widget";
import sessions from "../../src/sessions/widget";
import { FakeModel } from "../helpers/comm";
import { drawn } from "../helpers/dom";
import { TestTimers } from "../helpers/peer";
import { aState } from "../helpers/runtime";

const WIDGETS = {
  sessions: { shell: sessions, load: () => import("../../src/sessions/widget") },
  fleet: { shell: fleet, load: () => import("../../src/fleet/widget") },
};

type Name = keyof typeof WIDGETS;

afterEach(() => {
  document.body.replaceChildren();
  vi.unstubAllGlobals();
});

async function widget(name: Name, traits = {}) {
  const model = new FakeModel({
    conversation: "",
    height: 520,
    direct: false,
    page: "",
    ...traits,
  });
  const shell = WIDGETS[name].shell(new TestTimers());
  const end = shell.initialize({ model });
  const el = document.body.appendChild(document.createElement("div"));
  shell.render({ model, el });
  await drawn();
  return { model, el, end };
}

/** The kernel relays what a Core says. */
async function relay(model: FakeModel, n: number, type: string, body: object, id?: string) {
  const link = model.inbox.find(({ op }) => op === "open")?.link;
  model.say({ link, op: "texts", texts: [JSON.stringify({ n, type, body, ...(id && { id }) })] });
  await drawn();
}

function ofPage(config: object) {
  const script = document.body.appendChild(document.createElement("script"));
  script.id = "jupyter-config-data";
  script.type = "application/json";
  script.textContent = JSON.stringify(config);
}

function sockets(): URL[] {
  const made: URL[] = [];
  vi.stubGlobal(
    "WebSocket",
    class {
      constructor(url: URL) {
        made.push(url);
      }
      close() {}
    },
  );
  return made;
}

describe.each(Object.keys(WIDGETS) as Name[])("%s", (name) => {
  test("anywidget finds a default export, and nothing called render", async () => {
    expect(Object.keys(await WIDGETS[name].load())).toEqual(["default"]);
  });

  test("a kernel that is gone is said without worry for the agents", async () => {
    const { model, el } = await widget(name);
    model.trigger("comm:close");
    await drawn();
    expect(el.querySelector('[role="alert"]')?.textContent).toContain("the agents go on");
  });

  test("straight to the page's server where that has the Core", async () => {
    ofPage({ baseUrl: "/user/ada/" });
    const made = sockets();
    const { model, end } = await widget(name, { direct: true });
    expect(made.map(({ pathname }) => pathname)).toEqual(["/user/ada/agentstepper/runtime"]);
    expect(model.inbox).toEqual([]);
    end();
    const relayed = await widget(name);
    expect(made).toHaveLength(1);
    expect(relayed.model.inbox.length).toBeGreaterThan(0);
  });
});

test("through the kernel the sessions need nothing of the page", async () => {
  const { model, el } = await widget("sessions", { direct: true }); // but the page doesn't say where its server is
  const said = model.inbox.filter(({ op }) => op === "text").map(({ text }) => text ?? "");
  expect(JSON.parse(said[0] ?? "").type).toBe("hello");
  await relay(model, 1, "welcome", { version: 1, core: "0.1", control: true });
  const begin = { topic: "sessions", n: 0, event: "begin", states: [aState("a")] };
  const none = { steps: [], actions: [], messages: [], participants: [], conversations: [] };
  await relay(model, 2, "item", { value: { ...begin, ...none } }, "v1");
  expect(el.querySelector(".as-SessRow")?.textContent).toContain("joker");
});

test("through the kernel the fleet needs nothing of the page", async () => {
  const { model, el } = await widget("fleet", { direct: true }); // but the page doesn't say where its server is
  const said = model.inbox.filter(({ op }) => op === "text").map(({ text }) => text ?? "");
  expect(JSON.parse(said[0] ?? "").type).toBe("hello");
  await relay(model, 1, "welcome", { version: 1, core: "0.1", control: true });
  const asked = said.concat(model.inbox.map(({ text }) => text ?? ""));
  expect(asked.some((text) => text.includes('"method":"fleet"'))).toBe(true);
  const report = { counts: [], errors: [], failed_actions: [], sessions: [], matching: 0 };
  const usage = { input_tokens: null, output_tokens: null, cost: null, estimated: false };
  const value = { at: 1, report: { ...report, actions: [], halted: [] }, inbox: [], usage };
  const more = { halted: 0, going: 0, steps_per_minute: 0, workers: 0 };
  await relay(model, 2, "result", { value: { ...value, ...more } }, "v1");
  expect(el.textContent).toContain("No background agent yet");
});
