/** The view on a page of its own, served by the Jupyter server; it needs no kernel and no JupyterLab. */
import pageStyles from "../styles/page.css";
import standIns from "../styles/stand_ins.css";

async function main(): Promise<void> {
  const element = document.getElementById("as-app");
  if (!element) return;
  const style = document.createElement("style");
  style.textContent = `${standIns}\n${pageStyles}`;
  // Before all others: these only stand in for what JupyterLab's own pages bring.
  document.head.prepend(style);
  document.body.classList.add("as-StandIns");
  followTheme();
  const { mount, serverTransport } = await import("../app");
  const base = new URL(element.dataset.baseUrl ?? "/", location.href);
  mount(element, serverTransport(base), element.dataset.run ?? "", { shell: "page" });
}

const dark = matchMedia("(prefers-color-scheme: dark)");

/** The theme is that of the notebook around us, where this page stands in its frame, else the system's. */
function followTheme(): void {
  const around = bodyAround();
  const apply = () => {
    document.body.dataset.jpThemeLight = around?.dataset.jpThemeLight ?? String(!dark.matches);
  };
  apply();
  dark.addEventListener("change", apply);
  if (around)
    new MutationObserver(apply).observe(around, { attributeFilter: ["data-jp-theme-light"] });
}

/** The body of the page whose frame this is; null where there is none or it is another site's. */
function bodyAround(): HTMLElement | null {
  try {
    return window.parent === window ? null : window.parent.document.body;
  } catch {
    return null;
  }
}

void main();
