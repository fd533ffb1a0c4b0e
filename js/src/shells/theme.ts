/** The look of pages that aren't Jupyter's own: whether they are dark, and whose colours are taken. */
import type { Timers } from "../client/transport";
import { putStyle } from "../styles";
import standIns from "../styles/stand_ins.css";
import vscode from "../styles/vscode.css";
import { type Widget, widgetShell } from "./widget";

type Scheme = "light" | "dark";

/**
 * Give an element the theme variables that the view is drawn with, as the page around it is now. On pages
 * of JupyterLab and Notebook there is nothing to do: they bring their own.
 */
export function applyTheme(host: HTMLElement): void {
  const own = document.body.dataset.jpThemeLight !== undefined;
  host.classList.toggle("as-StandIns", !own);
  host.classList.toggle("as-mod-vscode", !own && isVsCode());
  if (own) {
    delete host.dataset.jpThemeLight;
  } else {
    host.dataset.jpThemeLight = String(scheme(host) === "light");
    putStyle(host, "stand-ins", `${standIns}\n${vscode}`);
  }
}

/**
 * A widget's module that needs nothing of the page: it is dressed as the page around it.
 *
 * @param view Draws into a host, and gives back how to end it.
 * @param addStyles Gives the host's document the view's own stylesheet.
 */
export function themedShell<W = Widget>(
  view: (model: W, host: HTMLElement, timers: Timers) => () => void,
  addStyles: (host: HTMLElement) => void,
) {
  return widgetShell<W>(
    (model, host, timers) => {
      applyTheme(host);
      const leave = view(model, host, timers);
      const forget = onPageChange(() => applyTheme(host));
      return () => {
        forget();
        leave();
      };
    },
    // Drawn before it stands anywhere: what is behind it, and in which root, is known only now.
    (host) => {
      applyTheme(host);
      addStyles(host);
    },
  );
}

/** Tell of each change in the page's look; gives back how to stop. */
export function onPageChange(then: () => void): () => void {
  const observer = new MutationObserver(then);
  for (const element of [document.documentElement, document.body]) {
    observer.observe(element, { attributeFilter: LOOKS });
  }
  return () => observer.disconnect();
}

const LOOKS = ["class", "style", "theme", "data-jp-theme-light", "data-vscode-theme-kind"];

const isVsCode = () => document.body.dataset.vscodeThemeKind !== undefined;

function scheme(host: HTMLElement): Scheme {
  const { vscodeThemeKind } = document.body.dataset;
  if (vscodeThemeKind !== undefined) {
    const dark = /dark|high-contrast$/.test(vscodeThemeKind); // "vscode-high-contrast" is dark
    return dark ? "dark" : "light";
  }
  const colab = document.documentElement.getAttribute("theme");
  if (colab !== null) return colab === "dark" ? "dark" : "light";
  return ofBackdrop(host);
}

/** What is painted behind an element says it anywhere else: light text on white can't be read. */
function ofBackdrop(host: HTMLElement): Scheme {
  for (let at = host.parentElement; at; at = parentOf(at)) {
    const painted = luminance(getComputedStyle(at).backgroundColor);
    if (painted !== null) return painted < 0.4 ? "dark" : "light";
  }
  const { colorScheme } = getComputedStyle(document.documentElement);
  const either =
    matchMedia("(prefers-color-scheme: dark)").matches || !colorScheme.includes("light");
  return colorScheme.includes("dark") && either ? "dark" : "light";
}

function parentOf(element: Element): HTMLElement | null {
  const root = element.getRootNode();
  return element.parentElement ?? (root instanceof ShadowRoot ? (root.host as HTMLElement) : null);
}

/** How bright a computed colour is, from 0 to 1; null where what is behind it shows through. */
function luminance(color: string): number | null {
  const [red, green, blue, alpha = 1] = (color.match(/[\d.]+/g) ?? []).map(Number);
  if (red === undefined || green === undefined || blue === undefined || alpha < 0.5) return null;
  return (0.299 * red + 0.587 * green + 0.114 * blue) / 255;
}
