import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { WidgetViews } from "../../src/shells/widget_views";
import { settled, TestTimers } from "../helpers/peer";

/** The browser's observer, whose turn comes when the test says so. */
let layout: () => void;

beforeEach(() => {
  const told = new Set<() => void>();
  layout = () => {
    for (const each of told) each();
  };
  vi.stubGlobal(
    "ResizeObserver",
    class {
      readonly #tell: () => void;
      constructor(callback: () => void) {
        this.#tell = callback;
      }
      observe = () => told.add(this.#tell);
      unobserve = () => told.delete(this.#tell);
      disconnect = () => told.delete(this.#tell);
    },
  );
});
afterEach(() => {
  vi.unstubAllGlobals();
  document.body.replaceChildren();
});

function stage() {
  const timers = new TestTimers();
  const views = new WidgetViews(timers);
  const ended: string[] = [];
  const settle = vi.fn();
  let made = 0;
  const element = () => document.body.appendChild(document.createElement("div"));
  /** Show a view in an element, as a front end does. */
  const show = (into = element()) => {
    const leave = views.show(
      into,
      (host) => {
        made += 1;
        const name = `view ${made}`;
        host.innerHTML = `<button>${name}</button><div class="scroller"></div>`;
        return () => ended.push(name);
      },
      settle,
    );
    layout();
    return { element: into, leave, text: () => into.textContent };
  };
  return { timers, views, ended, show, settle, element };
}

test("two views of one widget are two", () => {
  const { show, ended } = stage();
  const [one, two] = [show(), show()];
  expect([one.text(), two.text(), ended]).toEqual(["view 1", "view 2", []]);
});

test("a view that is taken away ends, after a while", () => {
  const { show, timers, ended } = stage();
  show().leave();
  timers.pass(2999);
  expect(ended).toEqual([]);
  timers.pass(1);
  expect(ended).toEqual(["view 1"]);
});

test("taken up again within that while it is the same", () => {
  const { show, timers, ended } = stage();
  const first = show();
  first.leave();
  first.element.remove();
  const second = show();
  timers.pass(60_000);
  expect([second.text(), ended]).toEqual(["view 1", []]);
  second.leave();
  timers.pass(3000);
  expect(ended).toEqual(["view 1"]);
});

test("it is the same also where the new element comes before the old is given up", () => {
  const { show, timers, ended } = stage();
  const first = show();
  first.element.remove();
  const second = show();
  first.leave();
  timers.pass(60_000);
  expect([second.text(), ended]).toEqual(["view 1", []]);
});

test("it is left alone where it was out of sight for long: it may be scrolled back", () => {
  const { show, timers } = stage();
  const first = show();
  first.element.remove();
  layout();
  timers.pass(3000);
  expect(show().text()).toBe("view 2");
  document.body.append(first.element);
  layout();
  expect(first.text()).toBe("view 1");
});

test("one that has not come into the document yet isn't free", () => {
  const { views } = stage();
  const make = (host: HTMLElement) => {
    host.textContent = "view";
    return () => {};
  };
  const [one, two] = [document.createElement("div"), document.createElement("div")];
  views.show(one, make);
  views.show(two, make);
  expect([one.textContent, two.textContent]).toEqual(["view", "view"]);
});

test("scrolling and focus move along, once the new element is in the document", async () => {
  const { show, views, settle } = stage();
  const first = show();
  const scroller = first.element.querySelector<HTMLElement>(".scroller");
  const button = first.element.querySelector("button");
  if (!scroller || !button) throw new Error("not drawn");
  scroller.scrollTop = 300;
  scroller.dispatchEvent(new Event("scroll"));
  button.focus();
  first.element.remove();
  button.blur();
  scroller.scrollTop = 0;
  await settled();
  const scrollTo = vi.spyOn(scroller, "scrollTo").mockImplementation(() => {});

  const element = document.createElement("div");
  views.show(element, () => () => {});
  layout();
  expect(scrollTo).not.toHaveBeenCalled();
  document.body.append(element);
  layout();
  expect(scrollTo).toHaveBeenCalledWith({ top: 300, left: 0, behavior: "instant" });
  expect(document.activeElement).toBe(button);
  expect(settle).toHaveBeenCalledTimes(2);
});

test("the focus stays with who has it elsewhere", async () => {
  const { show } = stage();
  const first = show();
  first.element.querySelector("button")?.focus();
  first.element.remove();
  await settled();
  const cell = document.body.appendChild(document.createElement("input"));
  cell.focus();
  show();
  expect(document.activeElement).toBe(cell);
});

test("who left the view before isn't brought back", async () => {
  const { show } = stage();
  const first = show();
  const button = first.element.querySelector("button");
  button?.focus();
  button?.blur();
  await settled();
  first.element.remove();
  show();
  expect(document.activeElement).toBe(document.body);
});

test("all end with the widget", () => {
  const { show, views, ended, timers } = stage();
  show();
  show().leave();
  views.close();
  timers.pass(60_000);
  expect(ended).toEqual(["view 1", "view 2"]);
});
