/** The debugger's commands. Their keys and their place in the Run menu stand in `schema/panel.json`. */
import { type Controls, isUsable } from "../model/controls";
import type { RunControl } from "../model/run_control";
import { pageUrl } from "../shells/server";
import type { Command, Commands, Palette, Shell } from "./jupyterlab";
import type { Panel } from "./panel";
import { base } from "./presence";

const CATEGORY = "Agent debugger";
const NO_ARGUMENTS = { args: { type: "object", properties: {} } };

/** What is asked of the run that is shown. */
const ORDERS: { id: string; name: keyof Controls; label: string; caption: string }[] = [
  { id: "step", name: "step", label: "Step", caption: "Step the agent to its next breakpoint" },
  { id: "continue", name: "resume", label: "Continue", caption: "Let the agent run on" },
  { id: "halt", name: "halt", label: "Halt", caption: "Halt the agent at its next breakpoint" },
  { id: "stop", name: "stop", label: "Stop", caption: "Stop the agent" },
];

/** Those whose state follows the panel's and the run's. */
const FOLLOWING = ["toggle-panel", ...ORDERS.map(({ id }) => id)].map((id) => `agentstepper:${id}`);

/** Tell JupyterLab that the panel's state, or its run's, is another one. */
export function notify(commands: Commands): void {
  for (const id of FOLLOWING) commands.notifyCommandChanged(id);
}

/** Whose run is asked. */
interface HasControl {
  readonly control: RunControl | null;
}

/** Add the commands, and to the palette where there is one. */
export function addCommands(
  commands: Commands,
  shell: Shell,
  panel: Panel,
  palette: Palette | null,
  run: HasControl,
): void {
  const add = (id: string, command: Omit<Command, "describedBy">) => {
    commands.addCommand(`agentstepper:${id}`, { ...command, describedBy: NO_ARGUMENTS });
    palette?.addItem({ command: `agentstepper:${id}`, category: CATEGORY });
  };
  add("toggle-panel", {
    label: "Show Agent Debugger",
    caption: "Show or hide the agent debugger’s panel",
    isToggleable: true,
    isToggled: () => panel.isVisible,
    execute: () => (panel.isVisible ? hide(shell, panel) : shell.activateById(panel.id)),
  });
  for (const { id, name, label, caption } of ORDERS) {
    add(id, {
      label,
      caption: () => held(run, name) ?? caption,
      isEnabled: () => isUsable(run.control?.possible()[name]),
      execute: () => run.control?.[name](),
    });
  }
  add("open-page", {
    label: "Open on Its Own Page",
    caption: "Open the agent debugger in a tab of its own",
    execute: () => {
      window.open(pageUrl(base(), run.control?.run() ?? ""), "_blank", "noopener");
    },
  });
}

/** Why the run can't be asked for this now; null where it can. */
function held(run: HasControl, name: keyof Controls): string | null {
  if (!run.control) return "Show the agent debugger’s panel first";
  const control = run.control.possible()[name];
  return control ? control.held : "This agent can’t be stopped from here";
}

/** Put the panel away on whichever side the person has it. */
function hide(shell: Shell, panel: Panel): void {
  if ([...shell.widgets("left")].includes(panel)) shell.collapseLeft();
  else shell.collapseRight();
}
