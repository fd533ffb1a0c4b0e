/**
 * JupyterLab's own shortcuts stay out while the focus is in a view: `x` would cut the cell. The mark on
 * the root isn't enough, since its selectors end in `:focus` and match before the root is reached.
 *
 * @param target What has got the focus.
 */
export function keepJupyterOut(target: EventTarget | null): void {
  if (target instanceof Element) target.setAttribute("data-lm-suppress-shortcuts", "true");
}
