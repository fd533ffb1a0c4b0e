import { beforeEach, expect, test } from "vitest";
import panelSchema from "../../src/lab/schema/panel.json";
import { Widget } from "../helpers/lumino";

const shared = (value: unknown) => ({ "1.0.0": { get: async () => () => value } });
const SCOPE = {
  "@lumino/widgets": shared({ Widget }),
  "@jupyterlab/application": shared({ ILayoutRestorer: { name: "restorer" } }),
  "@jupyterlab/apputils": shared({ ICommandPalette: { name: "palette" } }),
  "@jupyterlab/rendermime": shared({ htmlRendererFactory: {} }),
  "@jupyterlab/ui-components": shared({ LabIcon: class {} }),
};

beforeEach(async () => {
  await import("../../src/lab/container");
});

function container() {
  const found = window._JUPYTERLAB?.agentstepper_nb;
  if (!found) throw new Error("no container");
  return found;
}

test("the modules of package.json are there, as JupyterLab asks for them", async () => {
  container().init(SCOPE);
  const extension = (await container().get("./extension"))();
  const mime = (await container().get("./mimeExtension"))();
  expect(extension).toMatchObject({
    __esModule: true,
    default: { id: "agentstepper_nb:panel", autoStart: true },
  });
  expect(mime.default).toMatchObject({ id: "agentstepper_nb:view" });
  Object.assign(extension, { __scope__: "agentstepper_nb" }); // JupyterLab does
});

test("a module that isn't ours is refused by name", async () => {
  await expect(container().get("./other")).rejects.toThrow("no module ./other");
});

test("a page that lacks a package is told which", async () => {
  container().init({ ...SCOPE, "@jupyterlab/apputils": undefined as never });
  await expect(container().get("./extension")).rejects.toThrow("no @jupyterlab/apputils");
});

const OF_A_LIVE_RUN = ["agentstepper:halt", "agentstepper:stop"];

test("each key is bound where a run lives, or steps, and no kernel stands at a breakpoint", () => {
  for (const { command, selector } of panelSchema["jupyter.lab.shortcuts"]) {
    document.body.innerHTML = "";
    document.body.className = "";
    delete document.body.dataset.jpDebuggerStoppedThreads;
    expect(document.body.matches(selector)).toBe(false);
    document.body.className = "as-mod-live";
    expect(document.body.matches(selector)).toBe(OF_A_LIVE_RUN.includes(command));
    document.body.className = "as-mod-live as-mod-stepping";
    expect(document.body.matches(selector)).toBe(true);
    document.body.dataset.jpDebuggerStoppedThreads = "true";
    expect(document.body.matches(selector)).toBe(false);
  }
});
