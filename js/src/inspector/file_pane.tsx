/** A file that stands under the selected row, in the inspector's place. */
import type { FileViewProps } from "../changes/file_view";
import type { Model } from "../model/model";
import { lazy, withStyles } from "../view/lazy";

/** The bar is there at once, so that nothing moves when the file comes. */
const FileView = lazy<FileViewProps>(
  async () => {
    const { FileView, styles } = await import("../changes");
    return withStyles(FileView, "changes", styles);
  },
  <div class="as-PaneBar" />,
);

/** Nothing where no file is selected, or its commit isn't known. */
export function filePane(model: Model) {
  const selected = model.selectedFile.value;
  if (!selected) return null;
  const commit = model.commits.value.find(({ id }) => id === selected.commit);
  const change = commit?.changes.find(({ path }) => path === selected.path);
  if (!commit || !change) return null;
  return (
    <FileView
      key={`${commit.id} ${change.path}`}
      model={model}
      commit={commit}
      change={change}
      link={{
        also: "show in ",
        text: "Changes",
        hint: "Show this file among all that the agent changed",
        onClick: () => model.openCommit(commit.id, change.path),
      }}
    />
  );
}
