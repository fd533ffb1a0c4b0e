/** A document with just enough layout for the timeline: every scroller is 400 px high. */
import { render } from "preact";
import { afterEach, beforeEach, vi } from "vitest";
import { settled } from "./peer";

export const SCROLLER_HEIGHT = 400;

/** The real one, also while a test has the clock in its hand. */
const later = globalThis.setTimeout;

/** Give elements a size, since no layout is done here; put all back after each test. */
export function useLayout(): void {
  beforeEach(() => {
    const height = { configurable: true, get: () => SCROLLER_HEIGHT };
    for (const name of ["offsetHeight", "clientHeight"]) {
      Object.defineProperty(HTMLElement.prototype, name, height);
    }
    Object.defineProperty(HTMLElement.prototype, "scrollHeight", {
      configurable: true,
      get(this: HTMLElement) {
        const rows = this.querySelector<HTMLElement>(".as-Rows");
        return rows ? Number.parseFloat(rows.style.height) + 26 : SCROLLER_HEIGHT;
      },
    });
  });
  afterEach(() => {
    document.body.replaceChildren();
    vi.restoreAllMocks();
    // What a test's clock held back is called: Preact would wait for it forever with its effects.
    if (vi.isFakeTimers()) vi.runOnlyPendingTimers();
    vi.useRealTimers();
  });
}

/** What a test draws into; another one for each. */
export let box: HTMLElement;

/** Give each test a box in the document, and a browser that remembers nothing. */
export function useBox(): void {
  beforeEach(() => {
    localStorage.clear();
    box = document.body.appendChild(document.createElement("div"));
  });
  afterEach(() => {
    render(null, box);
    box.remove();
  });
}

/** Press a key where the focus is. */
export async function press(key: string, fields: KeyboardEventInit = {}): Promise<void> {
  const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...fields });
  (document.activeElement ?? document.body).dispatchEvent(event);
  await drawn();
}

/**
 * Wait until what was changed is drawn. Frames and timers are called back in the order in which they
 * were asked for: what comes after a frame asked for now, also comes after Preact's effects, however
 * slow the machine. Effects may ask for more, so this is done a few times.
 */
export async function drawn(): Promise<void> {
  for (let turn = 0; turn < 4; turn += 1) {
    await settled();
    await new Promise((resolve) => requestAnimationFrame(() => later(resolve)));
  }
}
