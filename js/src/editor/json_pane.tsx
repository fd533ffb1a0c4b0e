/** The body as JSON text, with what is wrong with it said at its place. */
import { effect } from "@preact/signals";
import { useEffect, useId, useRef } from "preact/hooks";
import { Icon } from "../icons/icon";
import { LongText } from "../inspector/show/long_text";
import { cx } from "../view/classes";
import { codeEditor, show } from "./code";
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
      onText: (next) => session.setText(next),
    });
    // At once, not once it is drawn: by then the person may have typed more, and it would be taken back.
    const leave = effect(() => show(made, session.text, session.problem.value));
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
              <span>{problem.sentence(text)}</span>
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
