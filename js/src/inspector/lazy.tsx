/** Parts of the inspector that are fetched when they are first needed. */
import type { ComponentChildren } from "preact";
import type { ApprovalProps } from "../approval";
import type { EditorProps } from "../editor/editor";
import { Button } from "../view/button";
import { lazy, withStyles } from "../view/lazy";
import type { ContentsProps } from "./contents";
import type { ConflictProps, EditFootProps } from "./drafted";
import { Title } from "./title";

/** What a row asks a person, and the field of a denial. */
export const Approval = lazy<ApprovalProps>(
  async () => {
    const { Approval, styles } = await import("../approval");
    return withStyles(Approval, "approval", styles);
  },
  <div class="as-Foot" />,
);

/** What is said of edits: most rows are never edited. */
export const Conflict = lazy<ConflictProps>(async () => (await import("./drafted")).Conflict);

/** Its line is kept free until it is here. */
export const EditFoot = lazy<EditFootProps>(
  async () => (await import("./drafted")).EditFoot,
  <div class="as-Foot">
    <p class="as-Small">…</p>
  </div>,
);

/** A row’s contents as a person reads them. */
export const Contents = lazy<ContentsProps>(async () => {
  const { Contents, styles } = await import("./contents");
  return withStyles(Contents, "contents", styles);
});

/** What is copied of the contents that are shown. */
export async function copiedText(shown: ContentsProps): Promise<string> {
  return (await import("./contents")).copiedText(shown);
}

/** CodeMirror is larger than all the rest. */
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
