/** Finding and clicking in what was drawn, as tests of views do it. */

/**
 * @param host What the view was drawn into.
 * @param drawn Waits until it is drawn anew.
 */
export function looking(host: HTMLElement, drawn: () => Promise<unknown>) {
  const all = (selector: string) => [...host.querySelectorAll<HTMLElement>(selector)];
  const one = (selector: string) => {
    const [found] = all(selector);
    if (!found) throw new Error(`no ${selector}`);
    return found;
  };
  const button = (name: string) => {
    const found = all("button").find((each) =>
      (each.getAttribute("aria-label") ?? each.textContent ?? "").trim().startsWith(name),
    );
    if (!found) throw new Error(`no button ${name}`);
    return found;
  };
  const click = async (element: HTMLElement) => {
    element.click();
    await drawn();
  };
  return { all, one, button, click };
}
