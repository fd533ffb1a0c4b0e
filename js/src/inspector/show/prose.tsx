/** Texts that may be Markdown: whether one looks so, and what shows it. */
import { lazy, withStyles } from "../../view/lazy";

/** A longer one is shown as text alone: it would be laid out whole. */
const LONGEST = 100_000;

const SIGNS = /^\s{0,3}(#{1,6}\s|[-*+]\s|\d+[.)]\s|>|```|~~~|\|.*\|)|\*\*\S|__\S|`[^`\n]+`|\]\(/m;

/** Whether a text has signs of Markdown. */
export function looksMarked(text: string): boolean {
  return text.length <= LONGEST && SIGNS.test(text);
}

export const Markdown = lazy<{ text: string }>(async () => {
  const { Markdown, styles } = await import("../markdown");
  return withStyles(Markdown, "markdown", styles);
});
