/** Put the view of all agents into an element. */
import type { Transport } from "../client/transport";
import sessions from "../sessions/sessions.css";
import widths from "../sessions/widths.css";
import type { RunAccess } from "../shells/server";
import { mountStandalone } from "../shells/standalone";
import { COMMON, putStyle } from "../styles";
import list from "../styles/list.css";
import fleet from "./fleet.css";
import { FleetModel } from "./model";
import { Root } from "./root";

declare const VERSION: string;

// Its lines are those of the view of sessions.
const STYLES = [COMMON, list, sessions, widths, fleet].join("\n");

/** Give an element's document the stylesheet. */
export function addStyles(element: Element): void {
  putStyle(element, "fleet", STYLES);
}

export interface MountOptions extends RunAccess {
  /** The height to begin with, in pixels. */
  height?: number;
}

/** Show how all agents stand; gives back how to end it. */
export function mountFleet(
  element: HTMLElement,
  transport: Transport,
  { height, ...runAccess }: MountOptions = {},
): () => void {
  addStyles(element);
  const model = new FleetModel({ transport, name: `agentstepper_nb fleet ${VERSION}` });
  return mountStandalone(element, model, height, (place) => (
    <Root model={model} place={place} runAccess={runAccess} />
  ));
}
