import { afterEach, beforeEach, expect, test, vi } from "vitest";
import loader from "../../src/shells/loader";
import { FakeModel } from "../helpers/comm";
import { settled } from "../helpers/peer";

const traits = { run: "r1", base_url: "", height: 520, follow: false };

beforeEach(() => {
  document.body.innerHTML =
    '<script id="jupyter-config-data" type="application/json">{"baseUrl": "/lab/"}</script>';
});
afterEach(() => {
  document.body.replaceChildren();
  vi.unstubAllGlobals();
});

async function shown(answer: unknown) {
  const asked: string[] = [];
  vi.stubGlobal("fetch", async (url: URL) => {
    asked.push(url.pathname);
    if (answer instanceof Error) throw answer;
    return answer;
  });
  const el = document.createElement("div");
  document.body.append(el);
  const shell = loader();
  const model = new FakeModel(traits);
  shell.initialize({ model });
  shell.render({ model, el });
  await vi.waitFor(() => expect(el.querySelector("[role=alert]")).not.toBeNull());
  return { el, asked };
}

const json = (body: unknown) => ({ ok: true, status: 200, json: async () => body });

test("only the default export is called render", async () => {
  expect(Object.keys(await import("../../src/shells/loader"))).toEqual(["default"]);
  expect(Object.keys(await import("../../src/app"))).not.toContain("render");
});

test("the manifest is asked for below the base URL", async () => {
  const { asked } = await shown({ ok: false, status: 404 });
  expect(asked).toEqual(["/lab/static/agentstepper/manifest.json"]);
});

test.each([
  ["no extension", { ok: false, status: 404 }, "pip install agentstepper_nb"],
  ["no extension, without one", { ok: false, status: 404 }, "%agentstepper --kernel"],
  ["no answer", new TypeError("down"), "does not answer"],
  ["an older server", json({ version: "0.0.1", protocol: 1 }), "where the Jupyter server runs"],
  ["a newer server", json({ version: "9.0.0", protocol: 3 }), "in the kernel"],
])("%s: what to do is said, and it can be tried again", async (_, answer, words) => {
  const { el, asked } = await shown(answer);
  expect(el.querySelector("[role=alert]")?.textContent).toContain(words);
  el.querySelector("button")?.click();
  await settled();
  expect(asked.length).toBe(2);
});

test("a front end that doesn't say where its server is", async () => {
  document.body.replaceChildren();
  const { el, asked } = await shown(json({}));
  expect(el.textContent).toContain("%agentstepper --kernel");
  expect(asked).toEqual([]);
});

test("the kernel may name the base URL itself", async () => {
  document.body.replaceChildren();
  traits.base_url = "/elsewhere/";
  const { asked } = await shown({ ok: false, status: 404 });
  expect(asked).toEqual(["/elsewhere/static/agentstepper/manifest.json"]);
  traits.base_url = "";
});
