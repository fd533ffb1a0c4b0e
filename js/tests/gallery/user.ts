/** What a person does in a scene before it is looked at. */

const LONG_MS = 5000;

export class User {
  readonly #box: HTMLElement;

  constructor(box: HTMLElement) {
    this.#box = box;
  }

  /** Press what has this name, once it can be pressed: a button, a tab, a line of a list. */
  async press(name: string): Promise<void> {
    const kinds = "button, [role=tab], [role=option], [role=treeitem]";
    const element = await this.find(
      () => this.#all(kinds).find((each) => named(name)(each) && !isHeld(each)),
      name,
    );
    element.focus();
    element.click();
    await this.still();
  }

  /** Wait until a question has stood for long enough to be answered. */
  async read(): Promise<void> {
    const answers = ".as-Approve, .as-Confirm-yes";
    await this.find(() => this.#all(answers).find((each) => !isHeld(each)), "question");
    await this.still();
  }

  /** Press what a selector finds. */
  async pick(selector: string): Promise<void> {
    const element = await this.find(() => this.#all(selector)[0], selector);
    element.click();
    await this.still();
  }

  /** Press a key where the focus is, or else on the selected row. */
  async key(key: string): Promise<void> {
    const inside = this.#box.contains(document.activeElement) ? document.activeElement : null;
    const target = inside ?? (await this.find(() => this.#all(".as-Row, .as-View")[0], "a row"));
    target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    await this.still();
  }

  /** Type over what a field holds. */
  async type(selector: string, text: string): Promise<void> {
    const field = await this.find(() => this.#all(selector)[0], selector);
    if (!(field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement))
      throw new Error(`${selector} is no field`);
    field.focus();
    field.value = text;
    field.dispatchEvent(new Event("input", { bubbles: true }));
    await this.still();
  }

  /** Wait for something to be there. */
  async find(look: () => HTMLElement | undefined, what: string): Promise<HTMLElement> {
    const end = performance.now() + LONG_MS;
    for (;;) {
      const found = look();
      if (found) return found;
      if (performance.now() > end) throw new Error(`the scene has no ${what}`);
      await frame();
    }
  }

  /** Wait until nothing has changed for some frames. */
  async still(): Promise<void> {
    let changed = true;
    const observer = new MutationObserver(() => {
      changed = true;
    });
    observer.observe(this.#box, { subtree: true, childList: true, attributes: true });
    while (changed) {
      changed = false;
      for (let frames = 0; frames < 3; frames += 1) await frame();
    }
    observer.disconnect();
  }

  #all(selector: string): HTMLElement[] {
    const shown = (element: HTMLElement) => element.closest("[hidden]") === null;
    return [...this.#box.querySelectorAll<HTMLElement>(selector)].filter(shown);
  }
}

const isHeld = (element: HTMLElement) => element.getAttribute("aria-disabled") === "true";

const named = (name: string) => (element: HTMLElement) =>
  element.getAttribute("aria-label") === name ||
  (element.textContent ?? "").trim().startsWith(name);

const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
