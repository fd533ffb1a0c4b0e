/** Put the view of a chat into an element. */
import type { Transport } from "../client/transport";
import type { RunAccess } from "../shells/server";
import { mountStandalone } from "../shells/standalone";
import { COMMON, putStyle } from "../styles";
import chat from "./chat.css";
import bodies from "./messages/bodies.css";
import messages from "./messages/messages.css";
import { ChatModel } from "./model";
import { Root } from "./root";
import widths from "./widths.css";

declare const VERSION: string;

// Under a name of its own, since the debugger's may stand beside it.
const STYLES = [COMMON, messages, bodies, chat, widths].join("\n");

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
  getRunAccess?: () => RunAccess;
}

/** Show a chat; gives back how to end that. */
export function mountChat(
  element: HTMLElement,
  transport: Transport,
  { session, height, getRunAccess = () => ({}) }: MountOptions,
): () => void {
  addStyles(element);
  const model = new ChatModel({ transport, session, name: `agentstepper_nb chat ${VERSION}` });
  return mountStandalone(element, model, height, (place) => (
    <Root model={model} place={place} getRunAccess={getRunAccess} />
  ));
}
