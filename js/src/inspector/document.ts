/** The text of a row's contents that is shown, and the JSON value in it. */
import type { MessageBody } from "../model/model";
import { parse, Value } from "./json/parse";

/** Which text is shown: what the agent sent, or what stands in its place. */
export interface Shown {
  readonly text: string;
  readonly from: "original" | "edit" | "draft";
}

/** The text in force, or will be once the draft is sent; the original where it is asked for. */
export function shownText(body: MessageBody, draft: string | undefined, original: boolean): Shown {
  if (!original) {
    if (draft !== undefined && "root" in parse(draft)) return { text: draft, from: "draft" };
    if (body.edit != null) return { text: body.edit, from: "edit" };
  }
  return { text: body.data, from: "original" };
}

/** A text that holds one JSON value, else undefined. */
export function documentOf(text: string): Value | undefined {
  const parsed = parse(text);
  return "root" in parsed ? new Value(text, parsed.root) : undefined;
}
