import { afterEach, expect, test, vi } from "vitest";
import { applyTheme, onPageChange } from "../../src/shells/theme";

afterEach(() => {
  for (const element of [document.documentElement, document.body]) {
    for (const { name } of [...element.attributes]) element.removeAttribute(name);
  }
  document.body.replaceChildren();
  document.head.replaceChildren();
});

function host(backdrop = "") {
  const around = document.body.appendChild(document.createElement("div"));
  around.style.backgroundColor = backdrop;
  const host = around.appendChild(document.createElement("div"));
  applyTheme(host);
  return host;
}

const isLight = (element: HTMLElement) => element.dataset.jpThemeLight;

test.each([
  ["VS Code, dark", () => body("vscodeThemeKind", "vscode-dark"), "false"],
  ["VS Code, light", () => body("vscodeThemeKind", "vscode-light"), "true"],
  ["VS Code, high contrast", () => body("vscodeThemeKind", "vscode-high-contrast"), "false"],
  ["VS Code, light contrast", () => body("vscodeThemeKind", "vscode-high-contrast-light"), "true"],
  ["Colab, dark", () => document.documentElement.setAttribute("theme", "dark"), "false"],
  ["Colab, light", () => document.documentElement.setAttribute("theme", "light"), "true"],
])("%s", (name, prepare, light) => {
  prepare();
  const element = host("rgb(120, 120, 120)");
  expect(isLight(element)).toBe(light);
  expect(element.classList.contains("as-StandIns")).toBe(true);
  expect(element.classList.contains("as-mod-vscode")).toBe(name.startsWith("VS Code"));
  expect(document.head.querySelector("style")?.dataset.agentstepper).toBe("stand-ins");
});

test.each([
  ["rgb(30, 30, 30)", "false"],
  ["rgb(250, 250, 250)", "true"],
  ["", "true"],
])("elsewhere what is painted behind it tells: %s", (backdrop, light) => {
  expect(isLight(host(backdrop))).toBe(light);
});

test("JupyterLab's pages bring their own", () => {
  body("jpThemeLight", "false");
  const element = host();
  expect([isLight(element), element.className]).toEqual([undefined, ""]);
  expect(document.head.childElementCount).toBe(0);
});

test("a change of the page's look is told", async () => {
  const told = vi.fn();
  const stop = onPageChange(told);
  body("vscodeThemeKind", "vscode-dark");
  await vi.waitFor(() => expect(told).toHaveBeenCalledOnce());
  stop();
});

function body(name: string, value: string): void {
  document.body.dataset[name] = value;
}
