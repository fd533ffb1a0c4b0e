import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { MimeModel } from "../../src/lab/jupyterlab";
import { MIME, makeRenderer, viewExtension } from "../../src/lab/mime";
import { UserFixableError } from "../../src/shells/server";
import { fakeApp } from "../helpers/fake_app";
import { type Played, Widget } from "../helpers/lumino";
import { settled } from "../helpers/peer";

const loadApp = vi.hoisted(() => vi.fn());
vi.mock("../../src/shells/server", async (original) => ({
  ...(await original<typeof import("../../src/shells/server")>()),
  loadApp,
  pageConfig: () => ({ baseUrl: "/lab/" }),
}));

let server = fakeApp();
beforeEach(() => {
  server = fakeApp();
  loadApp.mockReset().mockImplementation(async () => server.app);
});
afterEach(() => document.body.replaceChildren());

/** The page's renderer of HTML: says what it was given, and whether it was to trust it. */
class Html extends Widget {
  async renderModel({ data, trusted }: MimeModel): Promise<void> {
    this.node.textContent = `${trusted ? "trusted" : "sanitised"} ${data["text/html"]}`;
  }
}

async function rendered(data: unknown) {
  const renderer = makeRenderer(Widget, () => new Html());
  const model = { metadata: {}, trusted: true };
  await renderer.renderModel({ ...model, data: { [MIME]: data, "text/html": "<p>later</p>" } });
  await settled();
  const again = async (data: unknown) => {
    await renderer.renderModel({ ...model, data: { [MIME]: data, "text/html": "<p>kept</p>" } });
    await settled();
  };
  return { renderer, played: renderer as unknown as Played, again };
}

test("it goes before ipywidgets, also where outputs aren't trusted", async () => {
  const get = async () => () => ({ Widget, htmlRendererFactory: {} });
  const made = await viewExtension({
    "@lumino/widgets": { "2.0.0": { get } },
    "@jupyterlab/rendermime": { "4.0.0": { get } },
  });
  expect(made.rank).toBeLessThan(-10);
  expect(made.rendererFactory).toMatchObject({ safe: true, mimeTypes: [MIME] });
});

test("the view is mounted as the output asks", async () => {
  await rendered({ run: "r1", follow: true, height: 400 });
  expect(server.views[0]).toMatchObject({
    run: "r1",
    options: { followsNewRuns: true, height: 400 },
  });
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

test("where the Core lost the run, its kept timeline takes the view's place, sanitised", async () => {
  const { renderer, again } = await rendered({ run: "r1" });
  server.views[0]?.options?.onAbsent?.();
  expect(renderer.node.textContent).toBe("the view"); // it may begin yet
  await again({ run: "r1", kept: true });
  server.views[0]?.options?.onAbsent?.();
  await settled();
  expect(server.views[0]?.gone).toBe(true);
  expect(renderer.node.textContent).toBe(
    "This run is no longer in the debugger; its timeline is stored in the notebook." +
      "sanitised <p>kept</p>",
  );
});

test("a run that is shown anew gives up its kept timeline", async () => {
  const { renderer, again } = await rendered({ run: "r1", kept: true });
  server.views[0]?.options?.onAbsent?.();
  await settled();
  await again({ run: "r2" });
  expect(renderer.node.textContent).toBe("the view");
});

test("data that is wrong is said, and gives way to data that is right", async () => {
  const { renderer, again } = await rendered({ run: "<img src=x>", height: {} });
  expect(renderer.node.textContent).toContain("its “height” is not a number of pixels");
  expect(server.views).toEqual([]);
  await again({ run: "r1" });
  expect(renderer.node.textContent).toBe("the view");
});

test("while it loads its place is kept, so that nothing below moves", async () => {
  let load = (_: unknown) => {};
  loadApp.mockReturnValueOnce(
    new Promise((resolve) => {
      load = resolve;
    }),
  );
  const { renderer } = await rendered({ run: "r1", height: 400 });
  const [room] = renderer.node.children;
  expect((room as HTMLElement).style.height).toBe("400px");
  load(server.app);
  await settled();
  expect(renderer.node.contains(room ?? null)).toBe(false);
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
  loadApp.mockRejectedValueOnce(new UserFixableError("Install it."));
  const { renderer } = await rendered({ run: "r1" });
  expect(renderer.node.querySelector("[role=alert]")?.textContent).toContain("Install it.");
  renderer.node.querySelector("button")?.click();
  await settled();
  expect(renderer.node.textContent).toBe("the view");
});
