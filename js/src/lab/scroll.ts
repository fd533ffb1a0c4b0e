/** Elements forget how far they were scrolled when they leave the document. */

/** Note how far the scrollers of a view are scrolled; gives what puts them back. */
export function keepScroll(element: HTMLElement): () => void {
  const places = [...element.querySelectorAll(".as-Scroll")].map(
    (scroller) => [scroller, scroller.scrollTop] as const,
  );
  return () => {
    for (const [scroller, top] of places) scroller.scrollTop = top;
  };
}
