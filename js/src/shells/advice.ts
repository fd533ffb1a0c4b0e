/** What stands in the view's place where it can't be shown, and a button to try again. */

/** Something that the person has to mend. */
export class Advice extends Error {}

/**
 * Say in an element what went wrong.
 *
 * @param again Called when the person asks to try again.
 */
export function advise(element: HTMLElement, error: Error, again: () => void): void {
  const text = document.createElement("span");
  text.textContent = error instanceof Advice ? error.message : `The view failed: ${error.message}`;
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Try again";
  button.onclick = again;
  const box = document.createElement("div");
  box.setAttribute("role", "alert");
  box.append(text, button);
  style(box, BOX);
  style(button, BUTTON);
  element.replaceChildren(box);
}

// The app's stylesheet isn't there yet: these are drawn without it.
const BOX = {
  display: "flex",
  alignItems: "center",
  justifyContent: "space-between",
  gap: "12px",
  padding: "10px 12px",
  border: "1px solid var(--jp-border-color2, #e0e0e0)",
  borderLeft: "4px solid var(--jp-error-color1, #d32f2f)",
  borderRadius: "3px",
  background: "var(--jp-layout-color1, #fff)",
  color: "var(--jp-ui-font-color1, rgba(0,0,0,.87))",
  font: "13px/19px var(--jp-ui-font-family, system-ui, sans-serif)",
};
const BUTTON = {
  flex: "none",
  height: "26px",
  padding: "0 9px",
  border: "1px solid var(--jp-border-color1, #bdbdbd)",
  borderRadius: "3px",
  background: "transparent",
  color: "inherit",
  font: "inherit",
  cursor: "pointer",
};

function style(element: HTMLElement, rules: Partial<CSSStyleDeclaration>): void {
  Object.assign(element.style, rules);
}
