/** A box that may scroll: reached by Tab where it does, and by nobody who needn't. */
import { useLayoutEffect, useRef } from "preact/hooks";

/** For the box's `ref`; give the text, so that it is looked at again with another one. */
export function useScrolls<T extends HTMLElement>(text: string) {
  const ref = useRef<T>(null);
  useLayoutEffect(() => {
    const box = ref.current;
    if (!box) return;
    const look = () => {
      const scrolls =
        box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1;
      if (scrolls) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    };
    look();
    const observer = new ResizeObserver(look);
    observer.observe(box);
    return () => observer.disconnect();
  }, [text]);
  return ref;
}
