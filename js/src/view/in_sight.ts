/** Whether a person can see an element: nothing lies over its middle, and nothing has scrolled it away. */
export function isInSight(element: Element): boolean {
  const { left, top, width, height } = element.getBoundingClientRect();
  const around = element.getRootNode();
  if (!(around instanceof Document || around instanceof ShadowRoot)) return false;
  const there = around.elementFromPoint(left + width / 2, top + height / 2);
  return there !== null && element.contains(there);
}
