/** The editor, fetched when it is first needed: CodeMirror is larger than all the rest. */
import type { ComponentChildren } from "preact";
import type { EditorProps } from "../editor/editor";
import { Button } from "../view/button";
import { lazy, withStyles } from "../view/lazy";
import { Title } from "./title";

export const LazyEditor = lazy<EditorProps>(
  async () => {
    const { Editor, styles } = await import("../editor/editor");
    return withStyles(Editor, "editor", styles);
  },
  <p class="as-Note as-Late">Loading the editor…</p>,
  Frame,
);

/** The bar in the editor's place, so that a person can go on reading without it. */
function Frame({ row, model, children }: EditorProps & { children: ComponentChildren }) {
  return (
    <>
      <div class="as-PaneBar">
        <Title row={row} editing />
        <span class="as-Spring" />
        <Button
          outline
          hint="Go on reading (Esc)"
          onClick={() => {
            model.editing.value = false;
          }}
        >
          Close
        </Button>
      </div>
      {children}
    </>
  );
}
