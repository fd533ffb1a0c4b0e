/** A list that grows at its end: who is there stays there, and who reads further up isn't moved. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

/** Nearer to the end than this is at it. */
const NEAR = 24;

/**
 * For a scroller's `ref` and `onScroll`.
 *
 * @param of What it is a list of: with another one it begins at its end.
 * @param last What its last entry is.
 */
export function useEnd<T extends HTMLElement>(of: unknown, last: unknown) {
  const ref = useRef<T>(null);
  const atEnd = useRef(true);
  const [behind, setBehind] = useState(false);
  const before = useRef<{ of: unknown; last: unknown }>({ of: undefined, last: undefined });
  const toEnd = () => {
    const element = ref.current;
    if (element) element.scrollTop = element.scrollHeight;
    atEnd.current = true;
    setBehind(false);
  };
  useLayoutEffect(() => {
    const was = before.current;
    before.current = { of, last };
    if (was.of !== of || atEnd.current) toEnd();
    else if (was.last !== last) setBehind(true);
  });
  useObserved(ref, () => atEnd.current && toEnd());
  const onScroll = () => {
    const element = ref.current;
    if (!element) return;
    atEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR;
    if (atEnd.current) setBehind(false);
  };
  return { ref, onScroll, behind, toEnd };
}

/** Hear of each change in an element's size, also where it comes later: what comes in below takes room. */
function useObserved(ref: { current: Element | null }, resized: () => void): void {
  const watched = useRef<{ element: Element; observer: ResizeObserver } | null>(null);
  useLayoutEffect(() => {
    if (ref.current === (watched.current?.element ?? null)) return;
    watched.current?.observer.disconnect();
    watched.current = null;
    if (!ref.current) return;
    const observer = new ResizeObserver(resized);
    observer.observe(ref.current);
    watched.current = { element: ref.current, observer };
  });
  useEffect(() => () => watched.current?.observer.disconnect(), []);
}
