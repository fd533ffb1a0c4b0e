/** The plugin of the side panel and its commands. */
import { onOpenRun } from "../shells/opening";
import { Commanded } from "./commanded";
import { addCommands, notify } from "./commands";
import { ICON } from "./icon";
import type { App, LayoutRestorer, Palette, Plugin } from "./jupyterlab";
import { makePanel, type Panel } from "./panel";
import { reopen } from "./reopen";
import { type ShareScope, take } from "./share_scope";

/** Below JupyterLab's own debugger, above what has no rank. */
const RANK = 500;

export async function panelPlugin(scope: ShareScope): Promise<Plugin> {
  const [{ Widget }, { ILayoutRestorer }, { ICommandPalette }, { LabIcon }] = await Promise.all([
    take(scope, "@lumino/widgets"),
    take(scope, "@jupyterlab/application"),
    take(scope, "@jupyterlab/apputils"),
    take(scope, "@jupyterlab/ui-components"),
  ]);
  const icon = new LabIcon({ name: "agentstepper:panel", svgstr: ICON });

  function activate(app: App, palette: Palette | null, restorer: LayoutRestorer | null): void {
    const { commands, shell } = app;
    const panel: Panel = makePanel(Widget, icon, () => {
      run.update();
      memory?.note(panel.isVisible);
    });
    const memory = restorer ? null : reopen(app, panel);
    const run = new Commanded(panel, () => notify(commands));
    // A view comes into sight, or leaves it, with the document that it stands in.
    shell.currentChanged?.connect(() => requestAnimationFrame(() => run.update()));
    addCommands(commands, shell, panel, palette, run);
    run.start(); // what it tells of are the commands
    onOpenRun((run) => {
      panel.showRun(run);
      shell.activateById(panel.id);
    });
    shell.add(panel, "right", { rank: RANK });
    restorer?.add(panel, panel.id);
  }

  return {
    id: "agentstepper_nb:panel",
    description: "The agent debugger’s side panel and commands.",
    autoStart: true,
    optional: [ICommandPalette, ILayoutRestorer],
    activate,
  };
}
