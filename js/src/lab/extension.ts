/** The plugin of the side panel and its commands. */
import { onOpenFile } from "../shells/open_file";
import { offerCellRunner } from "../shells/run_cell";
import { onOpenRun, pageConfig } from "../shells/server";
import { addCommands, CommandTarget, isVisible, notify, openInEditor } from "./commands";
import {
  type App,
  findModule,
  type LayoutRestorer,
  type Notifications,
  type Palette,
  type Plugin,
  type ShareScope,
  type StatusBar,
  type Widget,
  type WidgetClass,
} from "./jupyterlab";
import { VIEW_SAVED_EVENT } from "./mime";
import { findNotebookRunner } from "./notebooks";
import { makePanel, type Panel } from "./panel";

/** The debugger's icon, in the manner of JupyterLab's: 16 px, its colour that of the theme. */
const ICON = `
<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 16 16">
  <g class="jp-icon3" style="fill: none" stroke="#616161" stroke-width="1.4"
     stroke-linecap="round" stroke-linejoin="round">
    <path d="M2.5 7a5.5 5.5 0 0 1 10-2.6"/>
    <path d="M13 1.7v3h-3"/>
    <rect x="4" y="8.6" width="8" height="5.2" rx="1.4"/>
    <path d="M6.6 10.7v1M9.4 10.7v1"/>
  </g>
</svg>`;

// ---- Brings the panel back after a reload where nobody else does: Notebook 7 has no layout
// restorer.

/** Of this tab: another notebook opens as the person leaves it. */
const KEY = "agentstepper:panel";

/** Show the panel again, if it was there when the page was left; gives what notes that. */
export function reopen({ shell, restored }: App, panel: Panel): { note(visible: boolean): void } {
  const wasThere = sessionStorage.getItem(KEY) !== null;
  let back = !wasThere;
  void restored.then(() => {
    back = true;
    if (wasThere) shell.activateById(panel.id);
  });
  return {
    note(visible) {
      // Until it is back, that it isn't there says nothing.
      if (visible) sessionStorage.setItem(KEY, "shown");
      else if (back) sessionStorage.removeItem(KEY);
    },
  };
}

/** Below JupyterLab's own debugger, above what has no rank. */
const RANK = 500;

export async function panelPlugin(scope: ShareScope): Promise<Plugin> {
  const [{ Widget }, { ILayoutRestorer }, { ICommandPalette, Notification }, { LabIcon }, status] =
    await Promise.all([
      findModule(scope, "@lumino/widgets"),
      findModule(scope, "@jupyterlab/application"),
      findModule(scope, "@jupyterlab/apputils"),
      findModule(scope, "@jupyterlab/ui-components"),
      findModule(scope, "@jupyterlab/statusbar").catch(() => null), // Notebook has none
    ]);
  const icon = new LabIcon({ name: "agentstepper:panel", svgstr: ICON });

  function activate(
    app: App,
    palette: Palette | null,
    restorer: LayoutRestorer | null,
    bar: StatusBar | null,
  ): void {
    const { commands, shell } = app;
    const panel: Panel = makePanel(Widget, icon, () => {
      run.update();
      memory?.note(panel.isVisible);
    });
    const memory = restorer ? null : reopen(app, panel);
    const run: CommandTarget = new CommandTarget(panel, () => {
      notify(commands);
      const { halted } = run;
      const seen = panel.control?.isHalted() || (halted !== null && isVisible(halted));
      reminder.notify(halted?.control.run() ?? null, seen);
    });
    const reminder = makeHaltNotifier({
      Base: Widget,
      panel,
      notifications: Notification,
      show() {
        const { halted } = run;
        if (halted && isVisible(halted)) halted.element.scrollIntoView({ block: "nearest" });
        else if (halted) panel.showRun(halted.control.run());
        if (halted && !isVisible(halted)) shell.activateById(panel.id);
      },
    });
    document.addEventListener(VIEW_SAVED_EVENT, () => {
      reminder.notify(run.halted?.control.run() ?? null, false);
    });
    bar?.registerStatusItem("agentstepper_nb:halted", {
      item: reminder.item,
      align: "right",
      rank: RANK,
    });
    // A view comes into sight, or leaves it, with the document that it stands in.
    shell.currentChanged?.connect(() => requestAnimationFrame(() => run.update()));
    addCommands(commands, shell, panel, palette, run);
    run.start(); // what it tells of are the commands
    onOpenRun((run) => {
      panel.showRun(run);
      shell.activateById(panel.id);
    });
    onOpenFile(pageConfig()?.agentstepperRoot ?? "", (path, line) => {
      void openInEditor(commands, path, line);
    });
    offerCellRunner(() => findNotebookRunner(commands, shell, scope));
    shell.add(panel, "right", { rank: RANK });
    restorer?.add(panel, panel.id);
  }

  return {
    id: "agentstepper_nb:panel",
    description: "The agent debugger’s side panel and commands.",
    autoStart: true,
    optional: [ICommandPalette, ILayoutRestorer, ...(status ? [status.IStatusBar] : [])],
    activate,
  };
}

// ---- Says that an agent is halted, wherever the person is: the panel's badge, the status bar, one
// notification.

const WORDS = "Agent halted: show";
const BADGE = "as-mod-halted";

interface Options {
  Base: WidgetClass;
  panel: Widget;
  notifications: Notifications;
  /** Lead the person to the halted agent. */
  show(): void;
}

export interface HaltNotifier {
  /** The status bar's item. */
  readonly item: Widget;
  /**
   * Say what is the case now.
   *
   * @param halted The halted run's id; null: none.
   * @param seen Whether its view is seen.
   */
  notify(halted: string | null, seen: boolean): void;
}

export function makeHaltNotifier({ Base, panel, notifications, show }: Options): HaltNotifier {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = WORDS;
  button.title = "An agent waits for you";
  button.style.cssText =
    "border: 0; background: none; color: inherit; font: inherit; cursor: pointer";
  button.addEventListener("click", show);
  const item = new Base({ node: button });
  button.hidden = true;
  const told = new Set<string>();
  let shown: { run: string; id: string } | null = null;
  return {
    item,
    notify(halted, seen) {
      button.hidden = halted === null;
      panel.title.className = halted === null ? "" : BADGE;
      panel.title.caption = halted === null ? "Agent debugger" : "Agent debugger: agent halted";
      panel.title.label = halted === null ? "" : "●";
      if (shown !== null && shown.run !== halted) {
        notifications.dismiss(shown.id);
        shown = null;
      }
      if (halted === null || seen || told.has(halted)) return;
      told.add(halted); // once for each run: a person may step without looking
      const actions = [{ label: "Show", callback: show }];
      const id = notifications.emit("Agent halted", "info", { autoClose: false, actions });
      shown = { run: halted, id };
    },
  };
}
