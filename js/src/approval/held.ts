/** Why a row can't be answered from here now. */
import { useEffect, useState } from "preact/hooks";
import type { MessageBody, Model, Row } from "../model/model";

/**
 * So long a question stands before it can be approved, in milliseconds: the second half of a double click,
 * or a key meant for the question before, approves nothing that nobody has read.
 */
export const READ_MS = 500;

export const UNREAD = "It has only just been asked: read it first";

export function heldAnswering(model: Model, row: Row): string | null {
  if (model.connection.value.kind !== "open") return "Not connected to the Core";
  if (!model.control.value) return "This login may watch, not control";
  return model.sent.value.has(row.id) ? "Your answer is on its way" : null;
}

/** Why a row can't be approved; `heldAnswering`'s reasons among others. */
export function heldApproving(model: Model, row: Row, body: MessageBody): string | null {
  return heldAnswering(model, row) ?? invalid(model) ?? unseen(model, row, body);
}

function invalid(model: Model): string | null {
  const why = model.draftError.value;
  return why === null ? null : `The edit isn’t valid JSON: ${why}`;
}

/** What is approved is the edit: it has to be what is shown. */
function unseen(model: Model, row: Row, { edit }: MessageBody): string | null {
  const edited = edit !== null || model.draft(row.id).value !== null;
  const original = model.showOriginal.value && !model.editing.value;
  return edited && original
    ? "The original is shown: look at the edit before you approve it"
    : null;
}

/** Whether something has been before the person for long enough to be read. */
export function useRead(): boolean {
  const [isRead, setRead] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setRead(true), READ_MS);
    return () => clearTimeout(timer);
  }, []);
  return isRead;
}
