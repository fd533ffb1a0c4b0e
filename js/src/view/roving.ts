/** One tab stop for a row of buttons: Tab leads to the one used last, Left and Right go between them. */
import { useLayoutEffect, useRef } from "preact/hooks";

const STEPS: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1 };

/** For a toolbar's `ref`, `onFocusIn` and `onKeyDown`. */
export function useRoving<T extends HTMLElement>() {
  const ref = useRef<T>(null);
  const last = useRef<HTMLElement | null>(null);
  const stops = () => [...(ref.current?.querySelectorAll<HTMLElement>("button, a[href]") ?? [])];
  const settle = () => {
    const all = stops();
    const one = all.find((each) => each === last.current) ?? all[0];
    for (const each of all) each.tabIndex = each === one ? 0 : -1;
  };
  // Buttons come and go with what is possible.
  useLayoutEffect(settle);
  const onFocusIn = ({ target }: FocusEvent) => {
    last.current = target instanceof HTMLElement ? target : null;
    settle();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    if (step === undefined) return;
    const all = stops();
    const at = all.indexOf(document.activeElement as HTMLElement);
    all[(at + step + all.length) % all.length]?.focus();
    event.preventDefault();
    event.stopPropagation();
  };
  return { ref, onFocusIn, onKeyDown };
}
