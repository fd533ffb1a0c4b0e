/** The one door of the app: put a view into an element. */
import { effect, signal } from "@preact/signals";
import { render as draw } from "preact";
import type { Transport } from "./client/transport";
import { type RunControl, runControl } from "./model/controls";
import { Debugger } from "./model/debugger";
import { retryWhenOnline } from "./shells/standalone";
import { announceView } from "./shells/views";
import { addStyles } from "./styles";
import type { CoreRoute, ViewPlacement } from "./view/hooks";
import { Root } from "./view/root";

declare const VERSION: string;

export interface MountOptions {
  shell?: ViewPlacement["shell"];
  /** The address of the view's own page, for one run. */
  pageUrl?: (run: string) => string;
  /** The height to begin with, in pixels. */
  height?: number;
  /** Whether to go on to a run that begins once the shown one has ended. */
  followsNewRuns?: boolean;
  /** How the view reaches the Core, where that isn't straight. */
  coreRoute?: CoreRoute;
  /** Called when the Core is reached and doesn't know the run that was asked for. */
  onAbsent?: () => void;
}

/** Takes the view away again. */
export interface Mounted {
  (): void;
  /** Lead the view to another run. */
  show(run: string): void;
  /** The shown run, for commands of the shell's own. */
  readonly control: RunControl;
}

/**
 * Show the debugger in an element.
 *
 * @param run The run to show; "" shows the newest.
 */
export function mount(
  element: HTMLElement,
  transport: Transport,
  run: string,
  {
    shell = "inline",
    pageUrl,
    height,
    followsNewRuns = false,
    coreRoute,
    onAbsent,
  }: MountOptions = {},
): Mounted {
  addStyles(element);
  const model = new Debugger({
    transport,
    run,
    followsNewRuns,
    name: `agentstepper_nb view ${VERSION}`,
  });
  const place: ViewPlacement = {
    shell,
    resizable: shell === "inline",
    overlay: signal(null),
    ...(height !== undefined && { height }),
    ...(coreRoute && { coreRoute }),
    ...(pageUrl && { pageUrl: () => pageUrl(model.run.value?.id ?? "") }),
  };
  draw(<Root model={model} place={place} />, element);
  const leave = retryWhenOnline(model);
  const ignore = effect(() => {
    if (model.isAbsent.value) onAbsent?.();
  });
  const control = runControl(model);
  const unknown = shell === "inline" ? announceView({ element, control }) : () => {};
  model.start();
  const unmount = () => {
    unknown();
    leave();
    ignore();
    model.close();
    draw(null, element);
  };
  return Object.assign(unmount, {
    show: (id: string) => (id === "" ? undefined : model.openRun(id)),
    control,
  });
}
