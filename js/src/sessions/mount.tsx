/** Put the view of sessions into an element. */
import type { Transport } from "../client/transport";
import type { RunAccess } from "../shells/server";
import { mountStandalone } from "../shells/standalone";
import { COMMON, putStyle } from "../styles";
import list from "../styles/list.css";
import conversations from "./conversations.css";
import { SessionsModel } from "./model";
import { Root } from "./root";
import sessions from "./sessions.css";
import widths from "./widths.css";

declare const VERSION: string;

// Under a name of its own, since the debugger's may stand beside it.
const STYLES = [COMMON, list, sessions, conversations, widths].join("\n");

/** Give an element's document the stylesheet. */
export function addStyles(element: Element): void {
  putStyle(element, "sessions", STYLES);
}

export interface MountOptions extends RunAccess {
  /** The conversation to begin with. */
  conversation?: string;
  /** The height to begin with, in pixels. */
  height?: number;
}

/** Show the background agents; gives back how to end it. */
export function mountSessions(
  element: HTMLElement,
  transport: Transport,
  { conversation = "", height, ...runAccess }: MountOptions = {},
): () => void {
  addStyles(element);
  const model = new SessionsModel({
    transport,
    conversation,
    name: `agentstepper_nb sessions ${VERSION}`,
  });
  return mountStandalone(element, model, height, (place) => (
    <Root model={model} place={place} runAccess={runAccess} />
  ));
}
