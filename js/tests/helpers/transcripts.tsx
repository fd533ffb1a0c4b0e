/** Draws what was said in a chat, without the view around it. */
import { render } from "preact";
import { Transcript } from "../../src/chat/messages/transcript";
import type { ChatSessionInfo, ShownMessage } from "../../src/chat/types";
import { FakeTranscript } from "./chat_messages";
import { drawn } from "./dom";
import { queriesOf } from "./queries";

/** Everything is in sight: there is no layout here. */
export class FakeIntersectionObserver {
  readonly #seen: IntersectionObserverCallback;

  constructor(seen: IntersectionObserverCallback) {
    this.#seen = seen;
  }

  observe(): void {
    const entry = { isIntersecting: true } as IntersectionObserverEntry;
    this.#seen([entry], this as unknown as IntersectionObserver);
  }

  disconnect(): void {}
}

export async function shown(
  messages: readonly ShownMessage[],
  info: Partial<ChatSessionInfo> = {},
) {
  const model = new FakeTranscript(messages, info);
  return showing(model);
}

export async function showing(model: FakeTranscript) {
  const host = document.body.appendChild(document.createElement("div"));
  render(<Transcript model={model} />, host);
  await drawn();
  const { all, one, button, click } = queriesOf(host, drawn);
  const leave = () => render(null, host);
  return { model, host, all, one, button, click, leave };
}
