/**
 * The view's stylesheet, put into the document once. Every class begins with `as-`. Parts that few
 * people need bring their own in their chunk.
 */
import base from "./base.css";
import header from "./header.css";
import inspector from "./inspector.css";
import lanes from "./lanes.css";
import layout from "./layout.css";
import states from "./states.css";
import timeline from "./timeline.css";
import tokens from "./tokens.css";

// layout.css is last: its container queries override what stands before.
const PARTS = [tokens, base, header, timeline, lanes, inspector, states, layout];
/** What views of other things have in common with it. */
export const COMMON = [tokens, base, header, timeline, states, layout].join("\n");
const MARK = "data-agentstepper";

/** Put the view's stylesheet where an element finds it. */
export function addStyles(element: Element): void {
  putStyle(element, "", PARTS.join("\n"));
}

/**
 * Put a stylesheet where an element finds it, unless this very one is there.
 *
 * @param name Of the stylesheet: an older one of this name gives way.
 */
export function putStyle(element: Element, name: string, text: string): void {
  const root = element.getRootNode();
  const into = root instanceof ShadowRoot ? root : element.ownerDocument.head;
  const old = into.querySelector(`style[${MARK}="${name}"]`);
  if (old?.textContent === text) return;
  const style = old ?? into.appendChild(element.ownerDocument.createElement("style"));
  style.setAttribute(MARK, name);
  style.textContent = text;
}
