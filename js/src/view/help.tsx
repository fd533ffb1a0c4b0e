/** The list of all keys, over the view until it is closed. */
import { useEffect, useRef } from "preact/hooks";
import { Button } from "./button";
import type { CoreRoute, ViewPlacement } from "./hooks";

export { default as styles } from "../styles/help.css";

const KEYS: [string, string[]][] = [
  ["Step into", ["F11"]],
  ["Step over", ["F10"]],
  ["Step out", ["Shift", "F11"]],
  ["Run to the next event like this", ["t"]],
  ["Continue", ["F9"]],
  ["Halt", ["F6"]],
  ["Stop the agent", ["Shift", "F9"]],
  ["Edit what is halted", ["e"]],
  ["Approve what is asked", ["Alt", "A"]],
  ["Confirm it at high risk", ["Alt", "Y"]],
  ["Deny what is halted", ["d"]],
  ["Show the original", ["o"]],
  ["Back to reading", ["Esc"]],
  ["Write a note on an event", ["n"]],
  ["Add a breakpoint like an event", ["s"]],
  ["Go through the events", ["↑", "↓"]],
  ["Fold, show an event’s files", ["←", "→"]],
  ["First, last event", ["Home", "End"]],
  ["Filter the events, search all runs", ["/"]],
  ["Find in this run", ["Ctrl", "F"]],
  ["Go to a tab", ["1", "2", "3", "4", "5", "6"]],
  ["Go to a run", ["r"]],
  ["Next, previous difference of runs", ["j", "k"]],
  ["This list", ["?"]],
];

/** How this view reaches the Core. */
function wayToCore(coreRoute: CoreRoute | undefined): string {
  return coreRoute
    ? `Connected ${coreRoute.name}. ${coreRoute.why}`
    : "Connected straight to the Core.";
}

export function Help({ place }: { place: ViewPlacement }) {
  const box = useRef<HTMLDivElement>(null);
  const before = useRef(document.activeElement);
  const close = () => {
    place.overlay.value = null;
  };
  useEffect(() => {
    box.current?.focus();
    return () => {
      if (before.current instanceof HTMLElement) before.current.focus({ preventScroll: true });
    };
  }, []);
  return (
    <div class="as-Shade" onPointerDown={close}>
      <div
        ref={box}
        class="as-Help"
        role="dialog"
        aria-label="Keys"
        tabIndex={-1}
        onPointerDown={(event) => event.stopPropagation()}
      >
        <div class="as-Help-head">
          <h3>Keys</h3>
          <Button icon="close" hint="Close (Esc)" onClick={close} />
        </div>
        <p class="as-Muted as-Small">They act while the focus is in this view.</p>
        <dl>
          {KEYS.map(([what, keys]) => (
            <div key={what}>
              <dt>{what}</dt>
              <dd>
                {keys.map((key) => (
                  <kbd key={key} class="as-Kbd">
                    {key}
                  </kbd>
                ))}
              </dd>
            </div>
          ))}
        </dl>
        <p class="as-Help-via as-Muted as-Small">{wayToCore(place.coreRoute)}</p>
      </div>
    </div>
  );
}
