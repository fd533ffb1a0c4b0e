/** The editor of a pending halt point: the chunk that holds CodeMirror, fetched when it is first needed. */

import { effect, type Signal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon } from "../icons/icon";
import { Conflict, Discard } from "../inspector/edit_footer";
import { RowNote } from "../inspector/row_note";
import { HaltReason, OriginalButton } from "../inspector/row_pane";
import { type ContentShape, SHAPE_LABELS, Title } from "../inspector/title";
import type { Draft, MessageBody, Model, TimelineRow } from "../model/model";
import contents from "../styles/contents.css";
import editor from "../styles/editor.css";
import { Button, type Segment, Segments } from "../view/button";
import { formatCount } from "../view/format";
import { Form } from "./form";
import { JsonPane } from "./json_pane";
import { SchemaProblems, useSchema } from "./schema_parts";
import { EditSession } from "./session";

/** As in what is read, and its own. */
export const styles = `${contents}\n${editor}`;

export interface EditorProps {
  model: Model;
  row: TimelineRow;
  body: MessageBody;
  shape: ContentShape;
  /** Whether the person asked for it just now: only then the focus goes there. */
  focus: boolean;
}

type View = "both" | "fields" | "json";

const VIEWS: readonly Segment<View>[] = [
  { key: "both", label: "Both" },
  { key: "fields", label: "Fields" },
  { key: "json", label: "JSON" },
];

/** Who last chose how to edit goes on so. */
const chosen: Partial<Record<ContentShape, View>> = {};
const INITIAL_VIEW: Record<ContentShape, View> = {
  prompt: "fields",
  answer: "fields",
  call: "both",
  result: "both",
  note: "both",
};

export function Editor({ model, row, body, shape, focus }: EditorProps) {
  const editor = useRef<HTMLDivElement>(null);
  useFocusBack(editor);
  const { session, restart } = useSession(model, row, body, shape);
  useSchema(model, row, body, session);
  const [view, setView] = useState<View>(chosen[shape] ?? INITIAL_VIEW[shape]);
  const focusing = useRef(focus);
  // Only as it opens: what comes later comes while the person types elsewhere.
  useEffect(() => {
    focusing.current = false;
  }, []);
  const fields = session.fields.value;
  const hasFields = fields.length > 0 || session.messages.value !== null;
  // What is wrong in the JSON is said beside the JSON: it can't stay out of sight.
  const wanted = !hasFields ? "json" : session.problem.value && view === "fields" ? "both" : view;

  const close = () => {
    model.editing.value = false;
  };
  return (
    <div ref={editor} class="as-Edit">
      <div class="as-PaneBar">
        <Title row={row} editing />
        <span class="as-Spring" />
        <OriginalButton model={model} />
        {hasFields && (
          <Segments
            label="Edit as"
            segments={VIEWS}
            selected={wanted}
            onSelect={(next) => {
              chosen[shape] = next;
              setView(next);
            }}
          />
        )}
      </div>
      <HaltReason model={model} row={row} />
      <RowNote model={model} row={row} />
      <Conflict model={model} row={row} body={body} onResolved={restart} />
      <div class="as-Scroll">
        {wanted !== "json" && (
          <Form
            session={session}
            focus={focusing.current}
            showOriginal={model.showOriginal.value}
          />
        )}
        {wanted === "both" && <JsonHead session={session} />}
        {wanted !== "fields" && (
          <JsonPane
            session={session}
            label={`The ${SHAPE_LABELS[shape]} as JSON`}
            inline={wanted === "both"}
            focus={focusing.current && wanted === "json"}
            showOriginal={model.showOriginal.value && wanted === "json"}
          />
        )}
      </div>
      <SchemaProblems session={session} />
      {canStick(model, shape) && session.draft.value !== null && (
        <StickyChoice draft={model.draft(row.id)} />
      )}
      <EditorFooter session={session} onDiscard={() => session.discard()} onClose={close} />
    </div>
  );
}

function JsonHead({ session }: { session: EditSession }) {
  return (
    <div class="as-Section">
      <b>JSON</b>
      {session.problem.value && <span>the fields above show the last valid JSON</span>}
    </div>
  );
}

/** The edit of a row, begun anew only where nothing of the person's can be lost. */
function useSession(model: Model, row: TimelineRow, body: MessageBody, shape: ContentShape) {
  const current = useRef<{ session: EditSession; body: MessageBody } | null>(null);
  const [, redraw] = useState(0);
  const untouched = current.current !== null && current.current.session.draft.value === null;
  if (current.current === null || (untouched && !sameBody(current.current.body, body))) {
    current.current = { session: begin(model, row, body, shape), body };
  }
  const { session } = current.current;

  const autosave = useRef<Autosave | null>(null);
  useEffect(() => {
    autosave.current = autosaveDraft(model, row, session, body.sticky);
    return () => autosave.current?.close();
  }, [session]);

  const restart = () => {
    current.current = null;
    redraw((times) => times + 1);
  };
  return { session, restart };
}

/** The same contents may be fetched again while white space is typed, which is no draft yet. */
function sameBody(one: MessageBody, other: MessageBody): boolean {
  return one.data === other.data && one.edit === other.edit;
}

function begin(
  model: Model,
  row: TimelineRow,
  body: MessageBody,
  shape: ContentShape,
): EditSession {
  return new EditSession(
    shape,
    body.data,
    body.edit ?? body.data,
    model.draft(row.id).peek()?.text,
  );
}

// ---- Where the focus goes when the editor takes it away with it: to what stands in its place.

export function useFocusBack(editor: RefObject<HTMLElement | null>): void {
  useLayoutEffect(() => {
    const element = editor.current;
    const pane = element?.closest<HTMLElement>(".as-Inspector");
    if (!element || !pane) return;
    const root = element.getRootNode() as Document | ShadowRoot;
    return () => {
      // Still in the document here: who was focused elsewhere stays there.
      if (!element.contains(root.activeElement)) return;
      requestAnimationFrame(() => {
        const next = pane.querySelector<HTMLElement>(".as-EditButton, .as-Scroll[tabindex]");
        if (root.activeElement === null || root.activeElement === document.body) next?.focus();
      });
    };
  }, []);
}

// ---- What was edited so far, and the ways out.

interface FootProps {
  session: EditSession;
  onDiscard(): void;
  onClose(): void;
}

export function EditorFooter({ session, onDiscard, onClose }: FootProps) {
  const edited = session.draft.value !== null;
  return (
    <div class="as-Foot">
      <div class="as-FootBar">
        {edited ? (
          <>
            <span class="as-Inline as-You" title={editedText(session)}>
              <Icon name="pencil" small />
              <span class="as-x-pane">{editedText(session)}</span>
            </span>
            <span class="as-Muted as-Small as-Ellipsis as-x-pane">
              {session.error.value
                ? "Step waits until the JSON is valid"
                : session.hold.value
                  ? "Step waits until the call fits"
                  : "Draft stays here until you step"}
            </span>
          </>
        ) : (
          <span class="as-Muted as-Small as-Ellipsis">Nothing edited yet</span>
        )}
        <span class="as-Spring" />
        <Button
          icon="undo"
          hint="Undo the last change in this editor"
          disabledReason={session.canUndo.value ? null : "Nothing to undo"}
          onClick={() => session.undo()}
        />
        <Button
          icon="redo"
          hint="Redo the change that was undone"
          disabledReason={session.canRedo.value ? null : "Nothing to redo"}
          onClick={() => session.redo()}
        />
        {edited && <Discard onDiscard={onDiscard} />}
        <Button
          outline
          hint={edited ? "Keep the draft and go on reading (Esc)" : "Go on reading (Esc)"}
          onClick={onClose}
        >
          Close
        </Button>
      </div>
    </div>
  );
}

/** Whether an edit of a row can be made again in later prompts. */
function canStick(model: Model, shape: ContentShape): boolean {
  return shape === "prompt" && model.run.value?.can_stick_edits === true;
}

function StickyChoice({ draft }: { draft: Signal<Draft | null> }) {
  return (
    <label class="as-Sticky">
      <input
        type="checkbox"
        checked={draft.value?.sticky === true}
        onChange={({ currentTarget }) => {
          if (!draft.value) return;
          const { text, revision } = draft.value;
          draft.value = { text, revision, ...(currentTarget.checked && { sticky: true }) };
        }}
      />
      <span>Keep applying this edit to later prompts of this run</span>
    </label>
  );
}

function editedText(session: EditSession): string {
  const changed = session.changed.value.length;
  return changed > 0 ? `${formatCount(changed, "field")} edited` : "Edited";
}

// ---- The draft of an edit: handed to the model as it is typed, so that nothing can lose it, and followed
// there.

/** A small draft is kept at every key; writing a large one at every key would be felt. */
const AT_ONCE = 50_000;
const DELAY_MS = 150;

export interface Autosave {
  /** Hand over what was typed last. */
  flush(): void;
  /** Flush and stop. */
  close(): void;
}

/** @param sticky Whether the edit that the draft goes on from is made again in later prompts. */
export function autosaveDraft(
  model: Model,
  row: TimelineRow,
  session: EditSession,
  sticky = false,
): Autosave {
  const draft = model.draft(row.id);
  let timer: ReturnType<typeof setTimeout> | undefined;

  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    const text = session.draft.peek();
    const kept = draft.peek();
    if (text === (kept?.text ?? null)) return;
    // The revision is the one that the edit was begun at: a newer one belongs to somebody else's edit.
    const isSticky = kept ? kept.sticky : sticky;
    const revision = kept?.revision ?? row.revision;
    draft.value = text === null ? null : { text, revision, ...(isSticky && { sticky: true }) };
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
    if (!typed && !sent && text !== session.draft.peek()) session.applyDraft(text);
  });
  const stopError = effect(() => {
    model.draftError.value = session.hold.value;
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
