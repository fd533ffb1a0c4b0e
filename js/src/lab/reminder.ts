/** Says that an agent is halted, wherever the person is: the panel's badge, the status bar, one notification. */
import type { Notifications, Widget, WidgetClass } from "./jupyterlab";

const WORDS = "Agent halted: show";
const BADGE = "as-mod-halted";

interface Options {
  Base: WidgetClass;
  panel: Widget;
  notifications: Notifications;
  /** Lead the person to the halted agent. */
  show(): void;
}

export interface Reminder {
  /** The status bar's item. */
  readonly item: Widget;
  /**
   * Say what is the case now.
   *
   * @param halted The halted run's id; null: none.
   * @param seen Whether its view is seen.
   */
  tell(halted: string | null, seen: boolean): void;
}

export function makeReminder({ Base, panel, notifications, show }: Options): Reminder {
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
  let shown = "";
  return {
    item,
    tell(halted, seen) {
      button.hidden = halted === null;
      panel.title.className = halted === null ? "" : BADGE;
      panel.title.caption = halted === null ? "Agent debugger" : "Agent debugger: agent halted";
      panel.title.label = halted === null ? "" : "●";
      if (shown !== "" && halted === null) {
        notifications.dismiss(shown);
        shown = "";
      }
      if (halted === null || seen || told.has(halted)) return;
      told.add(halted); // once for each run: a person may step without looking
      const actions = [{ label: "Show", callback: show }];
      shown = notifications.emit("Agent halted", "info", { autoClose: false, actions });
    },
  };
}
