/** Brings the panel back after a reload where nobody else does: Notebook 7 has no layout restorer. */
import type { App } from "./jupyterlab";
import type { Panel } from "./panel";

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
