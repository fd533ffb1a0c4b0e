/** Lists with one tab stop, moved in with the arrow keys. */

/** Where a key leads in a list; undefined where it is no key of lists. */
export function move(key: string, at: number, length: number): number | undefined {
  if (length === 0) return undefined;
  if (key === "ArrowDown") return Math.min(length - 1, at + 1);
  if (key === "ArrowUp") return Math.max(0, at - 1);
  if (key === "Home") return 0;
  if (key === "End") return length - 1;
  return undefined;
}

/** Focus an item of a list and bring it into sight, without moving anything else. */
export function focusItem(list: Element, at: number): void {
  const item = list.querySelectorAll<HTMLElement>("[data-item]")[at];
  item?.focus({ preventScroll: true });
  item?.scrollIntoView({ block: "nearest" });
}

/** Keys that a list has used go no further: the view has a meaning for some of them, too. */
export function used(event: KeyboardEvent): void {
  event.preventDefault();
  event.stopPropagation();
}
