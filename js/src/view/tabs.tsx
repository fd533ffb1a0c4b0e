/** Tabs, of which one is shown, and their panels. */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

interface Tab<K extends string> {
  readonly id: K;
  readonly label: string;
  readonly title?: string;
  /** What stands after its label. */
  readonly mark?: ComponentChildren;
}

interface TabListProps<K extends string> {
  label: string;
  tabs: readonly Tab<K>[];
  selected: K;
  onSelect(id: K): void;
}

/** One tab stop; Left and Right go from one to the next, round and round. */
export function TabList<K extends string>({ label, tabs, selected, onSelect }: TabListProps<K>) {
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    const at = tabs.findIndex(({ id }) => id === selected);
    const to = tabs[(at + (event.key === "ArrowLeft" ? tabs.length - 1 : 1)) % tabs.length];
    if (to) onSelect(to.id);
    const list = event.currentTarget as HTMLElement;
    requestAnimationFrame(() => {
      list.querySelector<HTMLElement>('[aria-selected="true"]')?.focus();
    });
    event.preventDefault();
  };
  return (
    <div class="as-Tabs" role="tablist" aria-label={label} onKeyDown={onKeyDown}>
      {tabs.map(({ id, label: words, title, mark }) => (
        <button
          key={id}
          type="button"
          class="as-Tab"
          role="tab"
          aria-selected={id === selected}
          tabIndex={id === selected ? 0 : -1}
          title={title}
          onClick={() => onSelect(id)}
        >
          <span class="as-Tab-label" data-label={words}>
            {words}
          </span>
          {mark}
        </button>
      ))}
    </div>
  );
}

interface PanelProps {
  shown: boolean;
  label: string;
  children: ComponentChildren;
}

/** It stays in the document once seen, so that it is found again as it was left. */
export function Panel({ shown, label, children }: PanelProps) {
  const panel = useRef<HTMLDivElement>(null);
  const places = useRef(new Map<Element, number>());
  // A hidden element forgets how far it was scrolled.
  useLayoutEffect(() => {
    const scrollers = panel.current?.querySelectorAll(".as-Scroll") ?? [];
    if (!shown) return;
    for (const [element, top] of places.current) element.scrollTop = top;
    return () => {
      places.current.clear();
      for (const element of scrollers) places.current.set(element, element.scrollTop);
    };
  }, [shown]);
  return (
    <div ref={panel} class="as-Tabpanel" role="tabpanel" aria-label={label} hidden={!shown}>
      {children}
    </div>
  );
}
