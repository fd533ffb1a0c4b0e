/** A chat's view in the page. */
import { beforeEach, vi } from "vitest";
import { mountChat } from "../../src/chat/mount";
import { FakeChat } from "./chat";
import { drawn, useLayout } from "./dom";
import { queriesOf } from "./queries";

let width = 1000;

/** Tells a width at once: there is no layout here. */
export class Wide {
  static #all: Wide[] = [];
  readonly #told: ResizeObserverCallback;
  constructor(told: ResizeObserverCallback) {
    this.#told = told;
    Wide.#all.push(this);
  }
  static tell(now: number): void {
    width = now;
    for (const each of Wide.#all) each.observe();
  }
  observe(): void {
    const entry = { contentRect: { width } } as ResizeObserverEntry;
    this.#told([entry], this);
  }
  unobserve(): void {}
  disconnect(): void {}
}

/** Gives each test of a file an empty storage, and a chat that is 1,000 px wide. */
export function useChatLayout(): void {
  useLayout();
  beforeEach(() => {
    sessionStorage.clear();
    width = 1000;
    vi.stubGlobal("ResizeObserver", Wide);
  });
}

type Options = Partial<Parameters<typeof mountChat>[2]>;

/** Shows a chat, and gives what finds and presses its parts. */
export async function shown(chat = new FakeChat(), options: Options = {}) {
  const host = document.body.appendChild(document.createElement("div"));
  const leave = mountChat(host, chat, { session: "s", ...options });
  await drawn();
  const { all, one, button, click, type } = queriesOf(host, drawn);
  const field = () => one(".as-ChatPost-field") as HTMLTextAreaElement;
  const write = (text: string) => type(field(), text);
  const state = () => one(".as-State");
  return { chat, host, leave, all, one, button, click, field, write, state };
}
