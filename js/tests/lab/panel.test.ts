import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { addCommands, notify } from "../../src/lab/commands";
import { reopen } from "../../src/lab/extension";
import type { Command, Shell } from "../../src/lab/jupyterlab";
import { makePanel, type Panel } from "../../src/lab/panel";
import { INTO, OUT, OVER, TO_QUERY, TO_TOOL } from "../../src/model/steps";
import { fakeApp, HALTED } from "../helpers/fake_app";
import { type Played, Widget } from "../helpers/lumino";
import { settled } from "../helpers/peer";

const loadApp = vi.hoisted(() => vi.fn());
vi.mock("../../src/shells/server", () => ({
  loadApp,
  pageConfig: () => ({ baseUrl: "/lab/" }),
  pageUrl: (base: URL, run: string) => `${base.pathname}#${run}`,
}));

let server = fakeApp();
beforeEach(() => {
  server = fakeApp();
  loadApp.mockReset().mockImplementation(async () => server.app);
});
afterEach(() => {
  document.body.replaceChildren();
  document.body.className = "";
  sessionStorage.clear();
  vi.restoreAllMocks();
});

function aPanel() {
  const changed = vi.fn();
  const panel = makePanel(Widget, "icon", changed);
  return { panel, played: panel as unknown as Played, changed };
}

async function shownPanel() {
  const made = aPanel();
  made.played.attach();
  await settled();
  const view = server.views[0];
  if (!view) throw new Error("no view");
  return { ...made, view };
}

test("nothing is loaded before the panel is seen", async () => {
  const { played } = aPanel();
  played.attach({ visible: false });
  await settled();
  expect(loadApp).not.toHaveBeenCalled();
  played.show();
  await settled();
  expect(server.views[0]).toMatchObject({
    run: "",
    options: { shell: "panel", followsNewRuns: true },
  });
});

test("a panel is led to a run, also before it is seen", async () => {
  const { panel, played } = aPanel();
  panel.showRun("r7");
  played.attach();
  await settled();
  expect(server.views[0]?.run).toBe("r7");
  panel.showRun("r8");
  expect(server.views[0]?.show).toHaveBeenCalledWith("r8");
});

test("a panel that is put away keeps its view, but gives no control of it", async () => {
  const { panel, played, view } = await shownPanel();
  expect(panel.control).toBe(view.control);
  played.hide();
  expect(panel.control).toBeNull();
  played.show();
  expect(panel.control).toBe(view.control);
  expect(server.views).toHaveLength(1);
  expect(view.gone).toBe(false);
});

test("disposing takes the view away, and hears of it no more", async () => {
  const { panel, view, changed } = await shownPanel();
  panel.dispose();
  expect(view.gone).toBe(true);
  expect(panel.control).toBeNull();
  changed.mockClear();
  view.becomes(HALTED);
  expect(changed).not.toHaveBeenCalled();
});

// ---- commands ------------------------------------------------------------------------------------

function commandsOf(panel: Panel) {
  const all = new Map<string, Command>();
  const registry = {
    addCommand: (id: string, command: Command) => all.set(id, command),
    notifyCommandChanged: vi.fn(),
    hasCommand: vi.fn(),
    isEnabled: vi.fn(() => false),
    execute: vi.fn(),
  };
  const sides = { left: [] as unknown[], right: [panel] as unknown[] };
  const shell = {
    add: vi.fn(),
    activateById: vi.fn(),
    widgets: (side: "left" | "right") => sides[side],
    collapseLeft: vi.fn(),
    collapseRight: vi.fn(),
  };
  const palette = { addItem: vi.fn() };
  addCommands(registry, shell as unknown as Shell, panel, palette, panel);
  const command = (name: string) => {
    const found = all.get(`agentstepper:${name}`);
    if (!found) throw new Error(`no command ${name}`);
    return found;
  };
  const caption = (name: string) => (command(name).caption as () => string)();
  return { registry, shell, sides, palette, command, caption, ids: [...all.keys()] };
}

test("every command is in the palette", async () => {
  const { panel } = aPanel();
  const { palette, ids } = commandsOf(panel);
  expect(palette.addItem.mock.calls.map(([item]) => item)).toEqual(
    ids.map((command) => ({ command, category: "Agent debugger" })),
  );
});

test("what is impossible is disabled, and says why", async () => {
  const { panel, played, view } = await shownPanel();
  const { command, caption } = commandsOf(panel);
  expect(command("step").isEnabled?.()).toBe(false);
  expect(caption("step")).toBe("Ended");
  expect(caption("stop")).toContain("can’t be stopped");
  view.becomes(HALTED);
  expect(["step", "continue", "halt", "stop"].map((id) => command(id).isEnabled?.())).toEqual([
    true,
    true,
    false,
    true,
  ]);
  expect(caption("step")).toContain("next event");
  played.hide();
  expect(command("step").isEnabled?.()).toBe(false);
  expect(caption("step")).toContain("Show the agent debugger’s panel first");
});

test("a command is passed to the shown run", async () => {
  const { panel, view } = await shownPanel();
  const { command } = commandsOf(panel);
  view.becomes(HALTED);
  for (const id of ["step", "step-over", "step-out", "next-query", "next-tool"])
    command(id).execute();
  command("continue").execute();
  const goals = vi.mocked(view.control.step).mock.calls.flat();
  expect(goals).toEqual([INTO, OVER, OUT, TO_QUERY, TO_TOOL]);
  expect(view.control.resume).toHaveBeenCalledOnce();
});

test("the panel is shown, and put away on its side", async () => {
  const { panel, played } = aPanel();
  const { command, shell, sides } = commandsOf(panel);
  command("toggle-panel").execute();
  expect(shell.activateById).toHaveBeenCalledWith(panel.id);
  played.attach();
  expect(command("toggle-panel").isToggled?.()).toBe(true);
  command("toggle-panel").execute();
  expect(shell.collapseRight).toHaveBeenCalledOnce();
  sides.left = sides.right;
  command("toggle-panel").execute();
  expect(shell.collapseLeft).toHaveBeenCalledOnce();
});

test("the page of its own shows the panel's run", async () => {
  const open = vi.spyOn(window, "open").mockReturnValue(null);
  const { panel, view } = await shownPanel();
  view.control.run = () => "r7";
  commandsOf(panel).command("open-page").execute();
  expect(open).toHaveBeenCalledWith("/lab/#r7", "_blank", "noopener");
});

test("JupyterLab is told of each command that changed", () => {
  const told = vi.fn();
  notify({
    addCommand: vi.fn(),
    notifyCommandChanged: told,
    hasCommand: vi.fn(),
    isEnabled: vi.fn(() => false),
    execute: vi.fn(),
  });
  expect(told.mock.calls.flat()).toEqual(
    [
      ...["toggle-panel", "step", "step-over", "step-out", "next-query", "next-tool"],
      ...["continue", "halt", "stop"],
    ].map((id) => `agentstepper:${id}`),
  );
});

// ---- where no layout is restored -------------------------------------------------------------------

function notebook(panel: Panel) {
  let restore = () => {};
  const restored = new Promise<void>((resolve) => {
    restore = resolve;
  });
  const activateById = vi.fn();
  const app = { commands: {}, shell: { activateById }, restored };
  const memory = reopen(app as never, panel);
  return { memory, activateById, restore };
}

test("a panel that was seen before the reload is shown again", async () => {
  const { panel } = aPanel();
  notebook(panel).memory.note(true);
  const { memory, activateById, restore } = notebook(panel);
  memory.note(false); // not there yet
  expect(activateById).not.toHaveBeenCalled();
  restore();
  await settled();
  expect(activateById).toHaveBeenCalledWith(panel.id);
});

test("a panel that was put away stays away", async () => {
  const { panel } = aPanel();
  const { memory } = notebook(panel);
  memory.note(true);
  memory.note(false);
  const { activateById, restore } = notebook(panel);
  restore();
  await settled();
  expect(activateById).not.toHaveBeenCalled();
});
