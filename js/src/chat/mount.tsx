/** Put the view of a chat into an element. */
import { signal } from "@preact/signals";
import { render as draw } from "preact";
import type { Transport } from "../client/transport";
import { retryWhenBack } from "../shells/retry";
import type { Reach } from "../shells/server";
import { putStyle } from "../styles";
import base from "../styles/base.css";
import header from "../styles/header.css";
import layout from "../styles/layout.css";
import states from "../styles/states.css";
import timeline from "../styles/timeline.css";
import tokens from "../styles/tokens.css";
import type { Place } from "../view/hooks";
import chat from "./chat.css";
import { MESSAGE_STYLES } from "./messages";
import { ChatModel } from "./model";
import { Root } from "./root";
import widths from "./widths.css";

declare const VERSION: string;

// As in styles/index.ts; under a name of its own, since the debugger's may stand beside it.
const STYLES = [tokens, base, header, timeline, states, layout, MESSAGE_STYLES, chat, widths].join(
  "\n",
);

/** Give an element's document the stylesheet. */
export function addStyles(element: Element): void {
  putStyle(element, "chat", STYLES);
}

export interface MountOptions {
  /** The session to begin with. */
  session: string;
  /** The height to begin with, in pixels. */
  height?: number;
  /** How its runs are reached: asked whenever one is opened, since a Core may begin later. */
  reach?: () => Reach;
}

/** Show a chat; gives back how to end that. */
export function mountChat(
  element: HTMLElement,
  transport: Transport,
  { session, height, reach = () => ({}) }: MountOptions,
): () => void {
  addStyles(element);
  const model = new ChatModel({ transport, session, name: `agentstepper_nb chat ${VERSION}` });
  const place: Place = {
    shell: "inline",
    resizable: true,
    overlay: signal(null),
    ...(height !== undefined && { height }),
  };
  draw(<Root model={model} place={place} reach={reach} />, element);
  const leave = retryWhenBack(model.line);
  model.start();
  return () => {
    leave();
    model.close();
    draw(null, element);
  };
}
