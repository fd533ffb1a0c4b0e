/** Where the focus goes when the editor takes it away with it: to what stands in its place. */
import type { RefObject } from "preact";
import { useLayoutEffect } from "preact/hooks";

export function useFocusBack(editor: RefObject<HTMLElement | null>): void {
  useLayoutEffect(() => {
    const element = editor.current;
    const pane = element?.closest<HTMLElement>(".as-Inspector");
    if (!element || !pane) return;
    const root = element.getRootNode() as Document | ShadowRoot;
    return () => {
      // Still in the document here: who was focused elsewhere stays there.
      if (!element.contains(root.activeElement)) return;
      requestAnimationFrame(() => {
        const next = pane.querySelector<HTMLElement>(".as-EditButton, .as-Scroll[tabindex]");
        if (root.activeElement === null || root.activeElement === document.body) next?.focus();
      });
    };
  }, []);
}
