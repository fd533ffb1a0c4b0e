/** The body as JSON text, with what is wrong with it said at its place. */

import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import {
  bracketMatching,
  HighlightStyle,
  indentUnit,
  syntaxHighlighting,
} from "@codemirror/language";
import {
  Annotation,
  EditorState,
  type Extension,
  RangeSet,
  StateEffect,
  StateField,
} from "@codemirror/state";
import {
  Decoration,
  type DecorationSet,
  drawSelection,
  EditorView,
  GutterMarker,
  gutterLineClass,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { effect } from "@preact/signals";
import { useEffect, useId, useRef } from "preact/hooks";
import { Icon } from "../icons/icon";
import { LongText } from "../inspector/components/long_text";
import type { Problem } from "../inspector/json/parse";
import { cx } from "../view/hooks";
import type { EditSession } from "./session";

interface JsonPaneProps {
  session: EditSession;
  label: string;
  /** As high as its text, under the fields; else it fills the pane. */
  inline: boolean;
  focus: boolean;
  showOriginal: boolean;
}

export function JsonPane({ session, label, inline, focus, showOriginal }: JsonPaneProps) {
  const parent = useRef<HTMLDivElement>(null);
  const errorId = useId();
  const problem = session.problem.value;
  const { text } = session;

  useEffect(() => {
    if (!parent.current) return;
    const made = codeEditor({
      parent: parent.current,
      text: session.text,
      label,
      errorId,
      onText: (next) => session.setText(next, "json"),
    });
    // At once, not once it is drawn: by then the person may have typed more, and it would be taken back.
    const leave = effect(() => setEditorText(made, session.text, session.problem.value));
    if (focus) made.focus();
    return () => {
      leave();
      made.destroy();
    };
  }, [session]);

  return (
    <>
      <div class={cx("as-Editor", inline && "as-mod-inline", problem && "as-mod-bad")}>
        <div ref={parent} class="as-Editor-code" />
        <div id={errorId} role="alert">
          {problem && (
            <div class="as-Editor-error">
              <Icon name="cross" small />
              <span>{problem.describe(text)}</span>
            </div>
          )}
        </div>
      </div>
      {showOriginal && (
        <>
          <div class="as-Section">
            <b>Original</b>
          </div>
          <div class="as-Alone as-mod-under">
            <LongText text={session.original} code boxed />
          </div>
        </>
      )}
    </>
  );
}

// ---- CodeMirror as the JSON editor: its look, its keys, and the mark of what is wrong.

/** A change that came from the fields: not to be told to them again. */
const fromOutside = Annotation.define<boolean>();
const setProblem = StateEffect.define<Problem | null>();

const COLOURS = HighlightStyle.define([
  { tag: tags.propertyName, class: "as-k" },
  { tag: tags.string, class: "as-s" },
  { tag: tags.number, class: "as-num" },
  { tag: [tags.bool, tags.null], class: "as-kw" },
]);

const LOOK = EditorView.theme({
  "&": {
    font: "var(--as-code)",
    color: "var(--as-fg)",
    backgroundColor: "transparent",
    height: "100%",
  },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "inherit", lineHeight: "18px", overflow: "auto" },
  ".cm-content": { padding: "0", caretColor: "var(--as-fg)" },
  ".cm-line": { padding: "0 8px" },
  ".cm-gutters": { backgroundColor: "var(--as-raised)", color: "var(--as-muted)", border: "none" },
  ".cm-lineNumbers .cm-gutterElement": { minWidth: "32px", padding: "0 9px 0 4px" },
  ".cm-cursor": { borderLeftColor: "var(--as-fg)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground":
    {
      background: "var(--as-select)",
    },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--as-select)", outline: "none" },
});

class BadLine extends GutterMarker {
  override elementClass = "as-Editor-badNumber";
}
const BAD_LINE = new BadLine();

const problemField = StateField.define<Problem | null>({
  create: () => null,
  update: (problem, transaction) => {
    const told = transaction.effects.find((effect) => effect.is(setProblem));
    return told ? told.value : problem;
  },
  provide: (field) => [
    EditorView.contentAttributes.compute([field], (state) => ({
      "aria-invalid": String(state.field(field) !== null),
    })),
    EditorView.decorations.compute([field], (state) => marksOf(state, state.field(field))),
    gutterLineClass.compute([field], (state) => {
      const problem = state.field(field);
      return problem ? RangeSet.of([BAD_LINE.range(lineAt(state, problem).from)]) : RangeSet.empty;
    }),
  ],
});

function lineAt(state: EditorState, problem: Problem) {
  return state.doc.lineAt(Math.min(problem.at, state.doc.length));
}

function marksOf(state: EditorState, problem: Problem | null): DecorationSet {
  if (!problem) return Decoration.none;
  const line = lineAt(state, problem);
  const from = Math.min(problem.at, line.to);
  const to = Math.min(Math.max(problem.end, from), line.to);
  // A place between characters is shown under the last one before it.
  const start = from === to ? Math.max(line.from, from - 1) : from;
  const marks = [Decoration.line({ class: "as-Editor-badLine" }).range(line.from)];
  if (start < to) marks.push(Decoration.mark({ class: "as-Squiggle" }).range(start, to));
  return Decoration.set(marks);
}

interface CodeOptions {
  parent: HTMLElement;
  text: string;
  label: string;
  /** The id of the element that says what is wrong. */
  errorId: string;
  onText(text: string): void;
}

/** The editor in its element. Take it down with `destroy`. */
export function codeEditor({ parent, text, label, errorId, onText }: CodeOptions): EditorView {
  const root = parent.getRootNode();
  return new EditorView({
    parent,
    ...(root instanceof ShadowRoot && { root }),
    state: EditorState.create({
      doc: text,
      extensions: [
        extensions(),
        EditorView.contentAttributes.of({ "aria-label": label, "aria-describedby": errorId }),
        EditorView.updateListener.of((update) => {
          const outside = update.transactions.some((one) => one.annotation(fromOutside));
          if (update.docChanged && !outside) onText(update.state.doc.toString());
        }),
      ],
    }),
  });
}

function extensions(): Extension {
  return [
    lineNumbers(),
    highlightSpecialChars(),
    history(),
    drawSelection(),
    indentUnit.of("  "),
    json(),
    syntaxHighlighting(COLOURS),
    bracketMatching(),
    EditorView.lineWrapping,
    problemField,
    LOOK,
    // Tab stays the key that leaves the editor: no one is locked in.
    keymap.of([...defaultKeymap, ...historyKeymap]),
  ];
}

/** Show the text as it stands, where it isn't what was typed here, and mark what is wrong with it. */
export function setEditorText(view: EditorView, text: string, problem: Problem | null): void {
  const changes = smallestReplacement(view.state.doc.toString(), text);
  if (!changes && view.state.field(problemField) === problem) return;
  view.dispatch({
    ...(changes && { changes, annotations: fromOutside.of(true) }),
    effects: setProblem.of(problem),
  });
}

// ---- The smallest replacement that makes one text another: keeps cursor and history where
// they were.

interface Replacement {
  readonly from: number;
  readonly to: number;
  readonly insert: string;
}

export function smallestReplacement(before: string, after: string): Replacement | null {
  if (before === after) return null;
  const most = Math.min(before.length, after.length);
  let start = 0;
  while (start < most && before.charCodeAt(start) === after.charCodeAt(start)) start += 1;
  let end = 0;
  while (
    end < most - start &&
    before.charCodeAt(before.length - 1 - end) === after.charCodeAt(after.length - 1 - end)
  ) {
    end += 1;
  }
  return { from: start, to: before.length - end, insert: after.slice(start, after.length - end) };
}
