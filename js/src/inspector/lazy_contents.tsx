/** A row's contents as a person reads them, fetched when a row is first looked at. */
import { lazy, withStyles } from "../view/lazy";
import type { ContentsProps } from "./contents";

export const Contents = lazy<ContentsProps>(async () => {
  const { Contents, styles } = await import("./contents");
  return withStyles(Contents, "contents", styles);
});

/** What is copied of the contents that are shown. */
export async function copiedText(shown: ContentsProps): Promise<string> {
  return (await import("./contents")).copiedText(shown);
}
