/** A view in an element of JupyterLab's, from the first try until it is taken away. */
import type { Mounted } from "../mount";
import { advise } from "../shells/advice";
import { type App, type Asker, loadApp, pageConfig } from "../shells/server";

const PAGE: Asker = { name: "This page", upgrade: "Reload the page." };

export interface Presence {
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
export function present(
  element: HTMLElement,
  mount: (app: App, element: HTMLElement) => Mounted,
  shown: (view: Mounted) => void = () => {},
): Presence {
  let view: Mounted | null = null;
  let gone = false;
  const begin = () => {
    loadApp(base(), pageConfig(), PAGE).then(
      (app) => {
        if (gone) return;
        element.replaceChildren();
        view = mount(app, element);
        shown(view);
      },
      (error: Error) => {
        if (!gone) advise(element, error, begin);
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
export function base(): URL {
  return new URL(pageConfig()?.baseUrl ?? "/", location.href);
}
