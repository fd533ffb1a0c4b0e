/** The side panel: the view of the newest run, beside whatever the person works on. */
import type { RunControl } from "../model/controls";
import type { Mounted } from "../mount";
import {
  type App,
  loadApp,
  pageConfig,
  type RequestingShell,
  showLoadError,
} from "../shells/server";
import type { Widget, WidgetClass } from "./jupyterlab";

const LEAST = "340px";

export interface Panel extends Widget {
  /** The shown run, while there is a view and a person sees it. */
  readonly control: RunControl | null;
  /** Lead its view to a run, now or once it is there. */
  showRun(run: string): void;
}

/**
 * Make the panel.
 *
 * The view is mounted when the panel is first seen, and stays until the panel is disposed of: a panel
 * that is put away for a moment comes back as it was left.
 *
 * @param changed Called when what `control` says may be another thing.
 */
export function makePanel(Base: WidgetClass, icon: unknown, changed: () => void): Panel {
  return new (class extends Base {
    #presence: MountedView | null = null;
    #unwatch = () => {};
    /** The run to begin with; "" is the newest. */
    #requestedRun = "";

    constructor() {
      super();
      this.id = "agentstepper-panel";
      this.addClass("as-Panel");
      this.node.style.overflow = "hidden";
      this.title.caption = "Agent debugger";
      this.title.icon = icon;
    }

    get control(): RunControl | null {
      return this.isVisible ? (this.#presence?.view?.control ?? null) : null;
    }

    showRun(run: string): void {
      this.#requestedRun = run;
      this.#presence?.view?.show(run);
    }

    override dispose(): void {
      if (this.isDisposed) return;
      this.#unwatch();
      this.#presence?.leave();
      this.#presence = null;
      super.dispose();
      this.#notifyChanged();
    }

    protected override onAfterAttach(): void {
      // Lumino asks its widgets for their least width; Notebook's side panels would only cut it off.
      this.node.style.minWidth = this.node.closest(".jp-LabShell") ? LEAST : "";
      if (this.isVisible) this.#onVisible();
    }

    protected override onAfterShow(): void {
      this.#onVisible();
    }

    protected override onAfterHide(): void {
      this.#notifyChanged();
    }

    protected override onActivateRequest(): void {
      this.node.querySelector<HTMLElement>(".as-View")?.focus();
    }

    #onVisible(): void {
      this.#presence ??= mountView(
        this.node,
        (app, node) =>
          app.mount(node, this.#requestedRun, { shell: "panel", followsNewRuns: true }),
        (view) => {
          this.#unwatch = view.control.watch(() => this.#notifyChanged());
        },
      );
      this.#notifyChanged();
    }

    #notifyChanged(): void {
      changed();
    }
  })();
}

// ---- A view in an element of JupyterLab's, from the first try until it is taken away.

const PAGE: RequestingShell = { name: "This page", upgrade: "Reload the page." };

export interface MountedView {
  /** Null until the app is loaded, and where it can't be. */
  readonly view: Mounted | null;
  leave(): void;
}

/**
 * Load the app and mount a view; where that can't be, say what to do.
 *
 * @param mount Puts the view there.
 * @param shown Called once it is there.
 */
export function mountView(
  element: HTMLElement,
  mount: (app: App, element: HTMLElement) => Mounted,
  shown: (view: Mounted) => void = () => {},
): MountedView {
  let view: Mounted | null = null;
  let gone = false;
  const begin = () => {
    loadApp(serverBaseUrl(), pageConfig(), PAGE).then(
      (app) => {
        if (gone) return;
        element.replaceChildren();
        view = mount(app, element);
        shown(view);
      },
      (error: Error) => {
        if (!gone) showLoadError(element, error, begin);
      },
    );
  };
  begin();
  return {
    get view() {
      return view;
    },
    leave() {
      gone = true;
      view?.();
      view = null;
    },
  };
}

/** The base URL of the server that this page is from. */
export function serverBaseUrl(): URL {
  return new URL(pageConfig()?.baseUrl ?? "/", location.href);
}
