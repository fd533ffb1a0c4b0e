/**
 * Every state of the view with fixed data, without a server: `gallery.html?scene=…&theme=…&width=…`.
 *
 * `node tests/gallery/build.mjs FOLDER` makes the page; it can be opened as a file. Without a scene it
 * lists them. `height` and `shell` may be given too. Once a scene stands, `body` has `data-ready`.
 */
import { browserMemory } from "../../src/model/storage";
import { mount } from "../../src/mount";
import { putStyle } from "../../src/styles";
import pageStyles from "../../src/styles/page.css";
import standIns from "../../src/styles/stand_ins.css";
import { ScriptedCore } from "./core";
import { Hand } from "./hand";
import { MOVING } from "./moving";
import type { Scene } from "./scene";
import { SCENES } from "./scenes";
import { BEGIN } from "./story";

declare global {
  interface Window {
    /** The names of all scenes, of those that go on, and who plays the one that is shown. */
    gallery: { scenes: string[]; moving: string[]; core?: ScriptedCore };
  }
}

const asked = new URLSearchParams(location.search);

async function main(): Promise<void> {
  Date.now = () => (BEGIN + 41) * 1000; // the clock stands: so do the figures
  putStyle(document.body, "page", `${standIns}\n${pageStyles}`);
  document.body.classList.add("as-StandIns");
  document.body.dataset.jpThemeLight = String(asked.get("theme") !== "dark");
  window.gallery = { scenes: Object.keys(SCENES), moving: Object.keys(MOVING) };
  const scene = SCENES[asked.get("scene") ?? ""];
  if (scene) await play(scene);
  else list();
  document.body.dataset.ready = "true";
}

async function play(scene: Scene): Promise<void> {
  const memory = browserMemory();
  for (const key of memory.keys("")) memory.remove(key);
  const box = document.getElementById("gallery");
  if (!box) throw new Error("the page has no place for the view");
  const width = asked.get("width");
  if (width) box.style.width = `${width}px`;
  const { script, options, run = "", act } = scene();
  const core = new ScriptedCore(script);
  window.gallery.core = core;
  const shell = (asked.get("shell") ?? "inline") as "inline" | "panel" | "page";
  const height = Number(asked.get("height") ?? 520);
  if (shell !== "inline") box.style.height = `${height}px`;
  mount(box, core, run, {
    shell,
    height,
    pageUrl: () => "#",
    ...options,
  });
  const hand = new Hand(box);
  await hand.still();
  await act?.(hand);
  if (script.link === "breaks") {
    core.drop();
    await hand.still();
  }
}

function list(): void {
  const items = window.gallery.scenes.map((name) => {
    const link = document.createElement("a");
    link.href = `?scene=${name}&theme=${asked.get("theme") ?? "light"}`;
    link.textContent = name;
    const item = document.createElement("li");
    item.append(link);
    return item;
  });
  const all = document.createElement("ul");
  all.append(...items);
  document.getElementById("gallery")?.append(all);
}

void main();
