/** The editor, fetched when it is first needed: CodeMirror is larger than all the rest. */
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { EditorProps } from "../editor/editor";
import { Button } from "../view/button";
import { withStyles } from "../view/lazy";
import { Title } from "./title";

type Editor = ComponentType<EditorProps>;

let loaded: Editor | undefined;

async function load(): Promise<Editor> {
  const { Editor, styles } = await import("../editor/editor");
  loaded ??= withStyles(Editor, "editor", styles);
  return loaded;
}

export function LazyEditor(props: EditorProps) {
  const [Editor, setEditor] = useState(() => loaded);
  const [failed, setFailed] = useState(false);
  const [tries, setTries] = useState(0);
  useEffect(() => {
    if (Editor) return;
    setFailed(false);
    load().then(
      (found) => setEditor(() => found),
      () => setFailed(true),
    );
  }, [tries]);

  if (Editor) return <Editor {...props} />;
  return (
    <>
      <div class="as-PaneBar">
        <Title row={props.row} editing />
        <span class="as-Spring" />
        <Button
          outline
          hint="Go on reading (Esc)"
          onClick={() => {
            props.model.editing.value = false;
          }}
        >
          Close
        </Button>
      </div>
      {failed ? (
        <div class="as-Empty">
          <h3>The editor could not be loaded</h3>
          <p>The Jupyter server did not send it.</p>
          <div class="as-Empty-actions">
            <Button outline hint="Load the editor" onClick={() => setTries(tries + 1)}>
              Try again
            </Button>
          </div>
        </div>
      ) : (
        <p class="as-Note as-Late">Loading the editor…</p>
      )}
    </>
  );
}
