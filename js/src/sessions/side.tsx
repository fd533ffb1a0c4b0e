/** Beside the list: the steps of the session that is looked at, or the conversations. */
import { useRef } from "preact/hooks";
import { Conversations } from "./conversations";
import type { SessionsModel, Side as Which } from "./model";
import { Steps } from "./steps";

const TABS: { id: Which; label: string }[] = [
  { id: "steps", label: "Steps" },
  { id: "conversations", label: "Conversations" },
];

export function Side({ model }: { model: SessionsModel }) {
  const tab = model.side.value;
  const seen = useRef(new Set<Which>()).current.add(tab);
  return (
    <section class="as-Pane as-SessSide" aria-label="Beside the sessions">
      <Tabs model={model} />
      <div class="as-Tabpanels">
        {seen.has("steps") && (
          <div class="as-Tabpanel" role="tabpanel" aria-label="Steps" hidden={tab !== "steps"}>
            <Steps model={model} />
          </div>
        )}
        {seen.has("conversations") && (
          <div
            class="as-Tabpanel"
            role="tabpanel"
            aria-label="Conversations"
            hidden={tab !== "conversations"}
          >
            <Conversations model={model} />
          </div>
        )}
      </div>
    </section>
  );
}

function Tabs({ model }: { model: SessionsModel }) {
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    model.side.value = model.side.peek() === "steps" ? "conversations" : "steps";
    const list = event.currentTarget as HTMLElement;
    requestAnimationFrame(() => {
      list.querySelector<HTMLElement>('[aria-selected="true"]')?.focus();
    });
    event.preventDefault();
  };
  return (
    <div class="as-Strip as-SessStrip">
      <div class="as-Tabs" role="tablist" aria-label="Beside the sessions" onKeyDown={onKeyDown}>
        {TABS.map(({ id, label }) => {
          const selected = model.side.value === id;
          return (
            <button
              key={id}
              type="button"
              class="as-Tab"
              role="tab"
              aria-selected={selected}
              tabIndex={selected ? 0 : -1}
              onClick={() => {
                model.side.value = id;
              }}
            >
              <span class="as-Tab-label" data-label={label}>
                {label}
              </span>
            </button>
          );
        })}
      </div>
    </div>
  );
}
