/** The commands of JupyterLab, and which view they are for. */
import { type Controls, isUsable, type RunControl } from "../model/controls";
import { INTO, OUT, OVER, type StepGoal, TO_QUERY, TO_TOOL } from "../model/steps";
import { pageUrl } from "../shells/server";
import { onViews, type ShownView, shownViews } from "../shells/views";
import type { Command, Commands, Palette, Shell } from "./jupyterlab";
import { type Panel, serverBaseUrl } from "./panel";

const CATEGORY = "Agent debugger";
const NO_ARGUMENTS = { args: { type: "object", properties: {} } };

/** What is asked of the run that is shown. */
const COMMANDS: CommandOfRun[] = [
  step("step", INTO, "Step Into", "Step the agent to its next event"),
  step("step-over", OVER, "Step Over", "Run the agent to the end of the event it is halted at"),
  step("step-out", OUT, "Step Out", "Run the agent to the end of the event around"),
  step("next-query", TO_QUERY, "Run to Next Query", "Run the agent to its next LLM query"),
  step("next-tool", TO_TOOL, "Run to Next Tool", "Run the agent to its next tool call"),
  {
    id: "continue",
    name: "resume",
    label: "Continue",
    caption: "Let the agent run on",
    execute: (control) => control.resume(),
  },
  {
    id: "halt",
    name: "halt",
    label: "Halt",
    caption: "Halt the agent at its next event",
    execute: (control) => control.halt(),
  },
  {
    id: "stop",
    name: "stop",
    label: "Stop",
    caption: "Stop the agent",
    execute: (control) => control.stop(),
  },
];

interface CommandOfRun {
  id: string;
  name: keyof Controls;
  label: string;
  caption: string;
  execute(control: RunControl): void;
}

function step(id: string, goal: StepGoal, label: string, caption: string): CommandOfRun {
  const name = goal.kind === "to" ? "to" : "step";
  return { id, name, label, caption, execute: (control) => control.step(goal) };
}

/** Those whose state follows the panel's and the run's. */
const FOLLOWING = ["toggle-panel", ...COMMANDS.map(({ id }) => id)].map(
  (id) => `agentstepper:${id}`,
);

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
  for (const { id, name, label, caption, execute } of COMMANDS) {
    add(id, {
      label,
      caption: () => disabledReason(run, name) ?? caption,
      isEnabled: () => isUsable(run.control?.controlStates()[name]),
      execute: () => run.control && execute(run.control),
    });
  }
  add("open-page", {
    label: "Open on Its Own Page",
    caption: "Open the agent debugger in a tab of its own",
    execute: () => {
      window.open(pageUrl(serverBaseUrl(), run.control?.run() ?? ""), "_blank", "noopener");
    },
  });
}

/** Why the run can't be asked for this now; null where it can. */
function disabledReason(run: HasControl, name: keyof Controls): string | null {
  if (!run.control) return "Show the agent debugger’s panel first";
  const control = run.control.controlStates()[name];
  return control ? control.disabledReason : "This agent can’t be stopped from here";
}

/** Put the panel away on whichever side the person has it. */
function hide(shell: Shell, panel: Panel): void {
  if ([...shell.widgets("left")].includes(panel)) shell.collapseLeft();
  else shell.collapseRight();
}

// ---- Which run the commands and keys are for: the panel's, else that of a view under a cell that is shown.

/** On the body while there is such a run and it lives: only then the F keys are the debugger's. */
export const LIVE_CLASS = "as-mod-live";
/** The same while it is halted or steps: only then the keys that step are the debugger's. */
export const STEPPING_CLASS = "as-mod-stepping";

export class CommandTarget {
  readonly #panel: HasControl;
  readonly #changed: () => void;
  readonly #unwatch = new Map<ShownView, () => void>();

  /** @param changed Called when another run may be the one, or its state another one. */
  constructor(panel: HasControl, changed: () => void) {
    this.#panel = panel;
    this.#changed = changed;
  }

  /** Follow the views of this page, for as long as it lives. */
  start(): void {
    onViews(() => this.#follow());
    this.#follow();
  }

  /** The run's control; null where no view is seen. */
  get control(): RunControl | null {
    const panel = this.#panel.control;
    if (panel && lives(panel)) return panel;
    const visibleControls = [...shownViews()].filter(isVisible).map(({ control }) => control);
    const live = visibleControls.filter(lives);
    return live.findLast((each) => each.isHalted()) ?? live.at(-1) ?? panel ?? null;
  }

  /** The view under a cell whose agent is halted, the newest one; null: none. */
  get halted(): ShownView | null {
    return [...shownViews()].findLast(({ control }) => control.isHalted()) ?? null;
  }

  /** Look again: what is seen may be something else. */
  update(): void {
    const control = this.control;
    const isLive = control !== null && lives(control);
    document.body.classList.toggle(LIVE_CLASS, isLive);
    document.body.classList.toggle(STEPPING_CLASS, isLive && control.isStepping());
    this.#changed();
  }

  #follow(): void {
    const views = shownViews();
    for (const [view, unwatch] of this.#unwatch) {
      if (views.has(view)) continue;
      unwatch();
      this.#unwatch.delete(view);
    }
    for (const view of views) {
      if (this.#unwatch.has(view)) continue;
      this.#unwatch.set(view, () => {}); // it may be told at once
      this.#unwatch.set(
        view,
        view.control.watch(() => this.update()),
      );
    }
    this.update();
  }
}

/** Whether a view is in the document and not in a tab that is hidden. */
export function isVisible({ element }: ShownView): boolean {
  return element.isConnected && element.getClientRects().length > 0;
}

function lives(control: RunControl): boolean {
  const { step, resume, halt } = control.controlStates();
  return [step, resume, halt].some(isUsable);
}

/** Open a file in the page's editor, at a line. */
export async function openInEditor(commands: Commands, path: string, line: number): Promise<void> {
  const opened = await commands.execute("docmanager:open", { path, factory: "Editor" });
  // The editor is there once its document is.
  await (opened as { context?: { ready?: Promise<void> } } | undefined)?.context?.ready;
  // Older ones of JupyterLab open the file at its begin.
  if (commands.hasCommand("fileeditor:go-to-line"))
    await commands.execute("fileeditor:go-to-line", { line, column: 1 });
}
