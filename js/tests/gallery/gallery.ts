/**
 * Every state of the view with fixed data, without a server: `gallery.html?scene=…&theme=…&width=…`.
 *
 * `node tests/gallery/build.mjs FOLDER` makes the page; it can be opened as a file. Without a scene it
 * lists them. `height` and `shell` may be given too. Once a scene stands, `body` has `data-ready`.
 */
import { mountChat } from "../../src/chat/mount";
import { mountFleet } from "../../src/fleet/mount";
import { elementsOf } from "../../src/inspector/markdown";
import { browserStorage } from "../../src/model/storage";
import { mount } from "../../src/mount";
import { mountSessions } from "../../src/sessions/mount";
import { putStyle } from "../../src/styles";
import pageStyles from "../../src/styles/page.css";
import standIns from "../../src/styles/stand_ins.css";
import type { FakeChat } from "../helpers/chat";
import { FakeFleet } from "../helpers/fleet";
import { FakeRuntime } from "../helpers/runtime";
import { MOVING } from "./animated";
import { CHAT_SCENES, type ChatMade } from "./chat";
import { ScriptedCore } from "./core";
import { FLEET_SCENES, type FleetMade } from "./fleet";
import type { Scene } from "./scene";
import { SCENES } from "./scenes";
import { SESSION_SCENES, type SessionsMade } from "./sessions";
import { BEGIN } from "./story";
import { User } from "./user";

declare global {
  interface Window {
    /** The names of all scenes, of those that go on, and who plays the one that is shown. */
    gallery: {
      scenes: string[];
      moving: string[];
      core?: ScriptedCore;
      runtime?: FakeRuntime;
      chat?: FakeChat;
      /** What is shown of a text as Markdown. */
      elementsOf: typeof elementsOf;
    };
  }
}

const asked = new URLSearchParams(location.search);
const NAMES = [SCENES, SESSION_SCENES, FLEET_SCENES, CHAT_SCENES].flatMap((scenes) =>
  Object.keys(scenes),
);

async function main(): Promise<void> {
  Date.now = () => (BEGIN + 41) * 1000; // the clock stands: so do the figures
  putStyle(document.body, "page", `${standIns}\n${pageStyles}`);
  document.body.classList.add("as-StandIns");
  document.body.dataset.jpThemeLight = String(asked.get("theme") !== "dark");
  window.gallery = { scenes: NAMES, moving: Object.keys(MOVING), elementsOf };
  const name = asked.get("scene") ?? "";
  const [scene, sessions, chat] = [SCENES[name], SESSION_SCENES[name], CHAT_SCENES[name]];
  const fleet = FLEET_SCENES[name];
  if (scene) await play(scene);
  else if (sessions) await playSessions(sessions());
  else if (fleet) await playFleet(fleet());
  else if (chat) await playChat(chat());
  else list();
  document.body.dataset.ready = "true";
}

/** Where the view goes, as wide as was asked, and as if it had never been there. */
function emptyBox(): HTMLElement {
  const memory = browserStorage();
  for (const key of memory.keys("")) memory.remove(key);
  const box = document.getElementById("gallery");
  if (!box) throw new Error("the page has no place for the view");
  const width = asked.get("width");
  if (width) box.style.width = `${width}px`;
  return box;
}

async function playSessions({ kept, act }: SessionsMade): Promise<void> {
  const box = emptyBox();
  const runtime = new FakeRuntime(kept);
  window.gallery.runtime = runtime;
  mountSessions(box, runtime, { height: Number(asked.get("height") ?? 520), pageUrl: () => "#" });
  const user = new User(box);
  await user.still();
  await act?.(user);
  if (kept.link === "breaks") {
    await runtime.drop();
    await user.still();
  }
}

async function playFleet({ kept, act }: FleetMade): Promise<void> {
  const box = emptyBox();
  const core = new FakeFleet(kept);
  mountFleet(box, core, { height: Number(asked.get("height") ?? 520), pageUrl: () => "#" });
  const user = new User(box);
  await user.still();
  await act?.(user);
  if (kept.link === "breaks") {
    await core.drop();
    await user.still();
  }
}

async function playChat({ chat, breaks, act }: ChatMade): Promise<void> {
  const box = emptyBox();
  sessionStorage.clear();
  window.gallery.chat = chat;
  const height = Number(asked.get("height") ?? 520);
  mountChat(box, chat, { session: "s", height, getRunAccess: () => ({ pageUrl: () => "#" }) });
  const user = new User(box);
  await user.still();
  await act?.(user);
  if (breaks) {
    await chat.drop();
    await user.still();
  }
}

async function play(scene: Scene): Promise<void> {
  const box = emptyBox();
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
  const user = new User(box);
  await user.still();
  await act?.(user);
  if (script.link === "breaks") {
    core.drop();
    await user.still();
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
