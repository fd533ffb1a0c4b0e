/** Put the view of sessions into an element. */
import { signal } from "@preact/signals";
import { render as draw } from "preact";
import type { Transport } from "../client/transport";
import { retryWhenBack } from "../shells/retry";
import type { Reach } from "../shells/server";
import { putStyle } from "../styles";
import base from "../styles/base.css";
import header from "../styles/header.css";
import layout from "../styles/layout.css";
import list from "../styles/list.css";
import states from "../styles/states.css";
import timeline from "../styles/timeline.css";
import tokens from "../styles/tokens.css";
import type { Place } from "../view/hooks";
import conversations from "./conversations.css";
import { SessionsModel } from "./model";
import { Root } from "./root";
import sessions from "./sessions.css";
import widths from "./widths.css";

declare const VERSION: string;

// As in styles/index.ts; under a name of its own, since the debugger's may stand beside it.
const STYLES = [
  tokens,
  base,
  header,
  timeline,
  states,
  layout,
  list,
  sessions,
  conversations,
  widths,
].join("\n");

/** Give an element's document the stylesheet. */
export function addStyles(element: Element): void {
  putStyle(element, "sessions", STYLES);
}

export interface MountOptions extends Reach {
  /** The conversation to begin with. */
  conversation?: string;
  /** The height to begin with, in pixels. */
  height?: number;
}

/** Show the agents that run on their own; gives back how to end it. */
export function mountSessions(
  element: HTMLElement,
  transport: Transport,
  { conversation = "", height, ...reach }: MountOptions = {},
): () => void {
  addStyles(element);
  const model = new SessionsModel({
    transport,
    conversation,
    name: `agentstepper_nb sessions ${VERSION}`,
  });
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
