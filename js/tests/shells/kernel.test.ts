import { afterEach, expect, test, vi } from "vitest";
import kernel from "../../src/shells/kernel";
import { FakeModel } from "../helpers/comm";
import { drawn } from "../helpers/dom";
import { TestTimers } from "../helpers/peer";
import { aHello, aRun, opened } from "../helpers/values";

const VIA = { name: "through the kernel", why: "This Jupyter server has no agentstepper_nb." };

afterEach(() => document.body.replaceChildren());

/** A widget as anywidget shows it, with a kernel that answers what it is asked. */
function widget(traits = {}) {
  const model = new FakeModel({
    run: "",
    follow: false,
    height: 520,
    via: VIA,
    ...traits,
  });
  const timers = new TestTimers();
  const shell = kernel(timers);
  const end = shell.initialize({ model });
  const show = () => {
    const el = document.body.appendChild(document.createElement("div"));
    return { el, leave: shell.render({ model, el }) };
  };
  return { model, timers, end, show };
}

/** Answer all commands that wait, as a Core with these runs. */
async function answer(model: FakeModel, runs = [aRun("a", { name: "cart" })]) {
  await drawn();
  const numbers = new Map<string, number>();
  for (const { link, op, text } of model.inbox.splice(0)) {
    if (op !== "text") continue;
    const { id, type, body } = JSON.parse(text ?? "");
    const n = (numbers.get(link) ?? Number(id.slice(1)) - 1) + 1;
    numbers.set(link, n);
    const answers: Record<string, object> = {
      hello: { type: "hello", body: aHello(runs) },
      open_run: {
        type: "run_opened",
        body: opened(runs.find((run) => run.id === body.run) ?? aRun("gone")),
      },
    };
    const said = JSON.stringify({ n, id, ...(answers[type] ?? { type: "ok", body: {} }) });
    model.say({ link, op: "texts", texts: [said] });
  }
  await drawn();
}

test("anywidget finds a default export, and nothing called render", async () => {
  expect(Object.keys(await import("../../src/shells/kernel"))).toEqual(["default"]);
});

test("the view comes up through the kernel, on a page that knows nothing of Jupyter", async () => {
  const { model, show } = widget();
  const { el } = show();
  await answer(model);
  await answer(model);
  expect(el.querySelector(".as-Root")?.textContent).toContain("cart");
  expect(el.querySelector('a[aria-label="Open on its own page"]')).toBeNull();
});

test("the view is led to another run by the widget", async () => {
  const runs = [aRun("a", { name: "first" }), aRun("b", { name: "second" })];
  const { model, show } = widget({ run: "a" });
  const { el } = show();
  await answer(model, runs);
  await answer(model, runs);
  const picker = () => el.querySelector(".as-RunPicker")?.textContent;
  expect(picker()).toContain("first");
  model.set("run", "b");
  await answer(model, runs);
  expect(picker()).toContain("second");
});

test("each view has a link of its own, and ends it", async () => {
  const { model, timers, end, show } = widget();
  const [one] = [show(), show()];
  await drawn();
  const opened = model.inbox.filter(({ op }) => op === "open").map(({ link }) => link);
  expect(new Set(opened).size).toBe(2);
  await answer(model);
  await answer(model);
  one.leave();
  expect(model.inbox).toEqual([]);
  timers.pass(3000);
  expect(model.inbox).toEqual([{ link: opened[0], op: "close" }]);
  end();
  expect(model.inbox.at(-1)).toEqual({ link: opened[1], op: "close" });
  expect(model.listeners).toBe(0);
});

test("drawn again in another element it goes on over the same link", async () => {
  const { model, timers, show } = widget();
  const first = show();
  await answer(model);
  await answer(model);
  first.leave();
  first.el.remove();
  const { el } = show();
  timers.pass(60_000);
  await drawn();
  expect(model.inbox).toEqual([]);
  expect(el.textContent).toContain("cart");
});

test("styles go where the view stands, also into a shadow root", async () => {
  vi.stubGlobal(
    "ResizeObserver",
    class {
      readonly #tell: () => void;
      constructor(callback: () => void) {
        this.#tell = callback;
      }
      observe = () => queueMicrotask(this.#tell);
      unobserve = () => {};
      disconnect = () => {};
    },
  );
  const shadow = document.body
    .appendChild(document.createElement("div"))
    .attachShadow({ mode: "open" });
  const { model, show } = widget();
  const { el } = show();
  shadow.append(el);
  await answer(model);
  const names = [...shadow.querySelectorAll("style")].map((each) => each.dataset.agentstepper);
  expect(names.sort()).toEqual(["", "stand-ins"]);
  vi.unstubAllGlobals();
});
