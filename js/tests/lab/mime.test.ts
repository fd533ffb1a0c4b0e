import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { makeRenderer, viewExtension } from "../../src/lab/mime";
import { MIME } from "../../src/lab/view_data";
import { Advice } from "../../src/shells/advice";
import { fakeApp } from "../helpers/fake_app";
import { type Played, Widget } from "../helpers/lumino";
import { settled } from "../helpers/peer";

const loadApp = vi.hoisted(() => vi.fn());
vi.mock("../../src/shells/server", () => ({ loadApp, pageConfig: () => ({ baseUrl: "/lab/" }) }));

let server = fakeApp();
beforeEach(() => {
  server = fakeApp();
  loadApp.mockReset().mockImplementation(async () => server.app);
});
afterEach(() => document.body.replaceChildren());

async function rendered(data: unknown) {
  const renderer = makeRenderer(Widget);
  await renderer.renderModel({ data: { [MIME]: data } });
  await settled();
  const again = async (data: unknown) => {
    await renderer.renderModel({ data: { [MIME]: data, "text/html": "<p>kept</p>" } });
    await settled();
  };
  return { renderer, played: renderer as unknown as Played, again };
}

test("it goes before ipywidgets, also where outputs aren't trusted", async () => {
  const get = async () => () => ({ Widget });
  const made = await viewExtension({ "@lumino/widgets": { "2.0.0": { get } } });
  expect(made.rank).toBeLessThan(-10);
  expect(made.rendererFactory).toMatchObject({ safe: true, mimeTypes: [MIME] });
});

test("the view is mounted as the output asks", async () => {
  await rendered({ run: "r1", follow: true, height: 400 });
  expect(server.views[0]).toMatchObject({ run: "r1", options: { goOn: true, height: 400 } });
});

test("an output that asks for the same keeps its view", async () => {
  const { again } = await rendered({ run: "r1", follow: false, height: 520 });
  await again({ follow: false, run: "r1", height: 520 });
  expect(server.views).toHaveLength(1);
  expect(server.views[0]?.gone).toBe(false);
});

test("an output that asks for another run gets another view", async () => {
  const { again } = await rendered({ run: "r1" });
  await again({ run: "r2" });
  expect(server.views.map(({ run, gone }) => [run, gone])).toEqual([
    ["r1", true],
    ["r2", false],
  ]);
});

test("data that is wrong is said, and gives way to data that is right", async () => {
  const { renderer, again } = await rendered({ run: "<img src=x>", height: {} });
  expect(renderer.node.textContent).toContain("its “height” is not a number of pixels");
  expect(server.views).toEqual([]);
  await again({ run: "r1" });
  expect(renderer.node.textContent).toBe("the view");
});

test("a view that is taken away while it loads is never mounted", async () => {
  let load = (_: unknown) => {};
  loadApp.mockReturnValueOnce(
    new Promise((resolve) => {
      load = resolve;
    }),
  );
  const { renderer } = await rendered({ run: "r1" });
  renderer.dispose();
  load(server.app);
  await settled();
  expect(server.views).toEqual([]);
});

test("disposing takes the view away", async () => {
  const { renderer } = await rendered({ run: "r1" });
  renderer.dispose();
  expect(server.views[0]?.gone).toBe(true);
});

test("an output that is scrolled away and back is the same, and where it was", async () => {
  const { renderer, played } = await rendered({ run: "r1" });
  const scroller = document.createElement("div");
  scroller.className = "as-Scroll";
  renderer.node.append(scroller);
  played.attach();
  scroller.scrollTop = 120;
  played.detach();
  scroller.scrollTop = 0; // as browsers do
  played.attach();
  expect(scroller.scrollTop).toBe(120);
  expect(server.views).toHaveLength(1);
});

test("what stands in the way is said, and can be tried again", async () => {
  loadApp.mockRejectedValueOnce(new Advice("Install it."));
  const { renderer } = await rendered({ run: "r1" });
  expect(renderer.node.querySelector("[role=alert]")?.textContent).toContain("Install it.");
  renderer.node.querySelector("button")?.click();
  await settled();
  expect(renderer.node.textContent).toBe("the view");
});
