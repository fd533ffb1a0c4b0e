/** The draft of an edit: handed to the model as it is typed, so that nothing can lose it, and followed there. */
import { effect } from "@preact/signals";
import type { Model, Row } from "../model/model";
import type { EditSession } from "./session";

/** A small draft is kept at every key; writing a large one at every key would be felt. */
const AT_ONCE = 50_000;
const DELAY_MS = 150;

export interface Keeping {
  /** Hand over what was typed last. */
  flush(): void;
  /** Flush and stop. */
  close(): void;
}

export function keepDraft(model: Model, row: Row, session: EditSession): Keeping {
  const draft = model.draft(row.id);
  let timer: ReturnType<typeof setTimeout> | undefined;

  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    const text = session.draft.peek();
    const kept = draft.peek();
    if (text === (kept?.text ?? null)) return;
    // The revision is the one that the edit was begun at: a newer one belongs to somebody else's edit.
    draft.value = text === null ? null : { text, revision: kept?.revision ?? row.revision };
  };
  const stopDraft = effect(() => {
    const text = session.draft.value;
    clearTimeout(timer);
    if ((text?.length ?? 0) <= AT_ONCE) flush();
    else timer = setTimeout(flush, DELAY_MS);
  });
  const stopFollowing = effect(() => {
    const text = draft.value?.text ?? null;
    const typed = timer !== undefined; // here, and not handed over yet
    const sent = model.sent.peek().has(row.id); // it stands until the row is answered
    if (!typed && !sent && text !== session.draft.peek()) session.follow(text);
  });
  const stopError = effect(() => {
    model.draftError.value = session.error.value;
  });
  const onLeave = () => timer !== undefined && flush();
  // A key that steps comes before the delay is over: capture runs ahead of who acts on it.
  const events = ["pagehide", "beforeunload", "blur", "keydown", "pointerdown"];
  for (const name of events) window.addEventListener(name, onLeave, true);

  return {
    flush,
    close() {
      for (const name of events) window.removeEventListener(name, onLeave, true);
      stopDraft();
      stopFollowing();
      stopError();
      if (timer !== undefined) flush();
    },
  };
}
