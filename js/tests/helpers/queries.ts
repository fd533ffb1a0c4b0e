/** Finding, pressing and writing in what was drawn, as a person does it. */

/**
 * @param host What the view was drawn into, where it isn't another one for each test.
 * @param drawn Waits until it is drawn anew.
 */
export function queriesOf(host: HTMLElement | (() => HTMLElement), drawn: () => Promise<unknown>) {
  const root = () => (typeof host === "function" ? host() : host);
  const all = (selector: string) => [...root().querySelectorAll<HTMLElement>(selector)];
  const one = (selector: string) => {
    const [found] = all(selector);
    if (!found) throw new Error(`no ${selector}`);
    return found;
  };
  /** The one that is called so, else the first whose name begins so. */
  const button = (name: string) => {
    const named = all("button").map((each) => ({
      each: each as HTMLButtonElement,
      called: (each.getAttribute("aria-label") ?? each.textContent ?? "").trim(),
    }));
    const found =
      named.find(({ called }) => called === name) ??
      named.find(({ called }) => called.startsWith(name));
    if (!found) throw new Error(`no button ${name}`);
    return found.each;
  };
  const click = async (element: HTMLElement) => {
    element.click();
    await drawn();
  };
  /** Write into a field, or the first that a selector finds. */
  const type = async (where: HTMLElement | string, text: string) => {
    const field = (typeof where === "string" ? one(where) : where) as HTMLInputElement;
    field.focus();
    field.value = text;
    field.dispatchEvent(new Event("input", { bubbles: true }));
    await drawn();
  };
  const pick = async (select: HTMLElement, value: string) => {
    (select as HTMLSelectElement).value = value;
    select.dispatchEvent(new Event("change", { bubbles: true }));
    await drawn();
  };
  return { all, one, button, click, type, pick };
}
