/** The app as a server would give it, whose views are empty and whose run the test leads. */
import { type Mock, vi } from "vitest";
import type { Controls, RunControl } from "../../src/model/controls";
import type { Mounted, MountOptions } from "../../src/mount";
import type { App } from "../../src/shells/server";

const enabled = { disabledReason: null };
const disabled = (why: string) => ({ disabledReason: why });

export const HALTED: Controls = {
  step: enabled,
  to: enabled,
  resume: enabled,
  halt: disabled("Halted"),
  stop: enabled,
};
/** It goes on. */
export const RUNNING: Controls = { ...HALTED, step: disabled("It runs"), halt: enabled };
export const ENDED: Controls = {
  step: disabled("Ended"),
  to: disabled("Ended"),
  resume: disabled("Ended"),
  halt: disabled("Ended"),
  stop: null,
};

export interface FakeView {
  element: HTMLElement;
  run: string;
  options: MountOptions | undefined;
  /** Whether it was taken away. */
  gone: boolean;
  control: RunControl;
  show: Mock<(run: string) => void>;
  /** Its run is in another state. */
  becomes(now: Controls): void;
}

/** An app, and the views that it has mounted so far. */
export function fakeApp(): { app: App; views: FakeView[] } {
  const views: FakeView[] = [];
  const app: App = {
    mount(element, run, options) {
      const view = fakeView(element, run, options);
      views.push(view);
      element.append("the view");
      const leave = () => {
        view.gone = true;
        element.replaceChildren();
      };
      return Object.assign(leave, { show: view.show, control: view.control }) as Mounted;
    },
  };
  return { app, views };
}

function fakeView(element: HTMLElement, run: string, options?: MountOptions): FakeView {
  let now = ENDED;
  const watchers = new Set<(controlStates: Controls) => void>();
  const control: RunControl = {
    run: () => run,
    isHalted: () => now === HALTED,
    isLive: () => now !== ENDED,
    isStepping: () => now === HALTED,
    controlStates: () => now,
    watch(changed) {
      changed(now);
      watchers.add(changed);
      return () => watchers.delete(changed);
    },
    step: vi.fn(),
    resume: vi.fn(),
    halt: vi.fn(),
    stop: vi.fn(),
  };
  const becomes = (next: Controls) => {
    now = next;
    for (const changed of watchers) changed(now);
  };
  return { element, run, options, gone: false, control, show: vi.fn(), becomes };
}
