/** A scroller that grows at both ends: who is at its end stays there, and nobody else is moved. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

/** Nearer to the end than this is at it. */
const NEAR = 24;

/** What a person looks at, and where on the screen it was. */
interface Anchor {
  readonly element: Element;
  readonly top: number;
}

/** Where the person is: at the end, or at something further up. */
type Place = "end" | Anchor | null;

/**
 * For a scroller, and the one element in it that holds its articles.
 *
 * Rows that come, fold open, or are fetched before the first one take room: what is looked at is put
 * back to where it was, before the browser draws. Safari has no anchoring of its own, and others do
 * without at the very top.
 */
export function useReading() {
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const place = useRef<Place>("end");
  const [away, setAway] = useState(false);
  /** Where it was put last. What is heard of that comes late: more may have grown since. */
  const put = useRef(0);

  const measure = () => {
    const box = scroller.current;
    if (!box || box.clientHeight === 0) return; // not shown: nobody looks at anything
    put.current = box.scrollTop;
    const atEnd = box.scrollHeight - box.scrollTop - box.clientHeight < NEAR;
    place.current = atEnd ? "end" : anchorIn(box);
    setAway(!atEnd);
  };
  const keep = () => {
    const box = scroller.current;
    const now = place.current;
    if (!box || box.clientHeight === 0) return;
    if (now === "end") box.scrollTop = box.scrollHeight;
    else if (now?.element.isConnected) {
      const moved = now.element.getBoundingClientRect().top - now.top;
      if (Math.abs(moved) >= 1) box.scrollTop += moved;
    }
    put.current = box.scrollTop;
  };
  const onScroll = () => {
    const byItself = Math.abs((scroller.current?.scrollTop ?? 0) - put.current) < 1;
    if (byItself) keep();
    else measure();
  };
  const toEnd = () => {
    place.current = "end";
    setAway(false);
    keep();
  };
  /** What is opened by a click stays under the pointer, also where that was at the end. */
  const hold = (event: Event) => {
    const box = scroller.current;
    const article = event.target instanceof Element ? event.target.closest("article") : null;
    if (!box) return;
    place.current = article ? anchorAt(article) : anchorIn(box);
    requestAnimationFrame(() => requestAnimationFrame(measure));
  };
  useLayoutEffect(keep);
  useEffect(() => {
    const observer = new ResizeObserver(keep);
    for (const { current } of [scroller, content]) if (current) observer.observe(current);
    return () => observer.disconnect();
  }, []);
  return { scroller, content, away, toEnd, onScroll, hold };
}

function anchorAt(element: Element): Anchor {
  return { element, top: element.getBoundingClientRect().top };
}

/** The first article that is in sight. */
function anchorIn(box: Element): Anchor | null {
  const { top } = box.getBoundingClientRect();
  const articles = [...box.querySelectorAll("article")];
  let [low, high] = [0, articles.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const bottom = articles[middle]?.getBoundingClientRect().bottom ?? 0;
    if (bottom > top) high = middle;
    else low = middle + 1;
  }
  const found = articles[low];
  return found ? anchorAt(found) : null;
}
