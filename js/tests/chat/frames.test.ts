/** Once before the next drawing; where nothing is drawn, soon all the same. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { nextFrame } from "../../src/model/inbox";

let frames: Map<number, FrameRequestCallback>;

beforeEach(() => {
  frames = new Map();
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  vi.stubGlobal("requestAnimationFrame", (then: FrameRequestCallback) => {
    frames.set(frames.size + 1, then);
    return frames.size;
  });
  vi.stubGlobal("cancelAnimationFrame", (id: number) => frames.delete(id));
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const draw = () => {
  for (const then of frames.values()) then(0);
};

test("it is called before the next drawing, once", () => {
  const then = vi.fn();
  nextFrame(then);
  draw();
  vi.advanceTimersByTime(1000);
  expect(then).toHaveBeenCalledTimes(1);
});

test("on a page that isn't shown it is called without one", () => {
  const then = vi.fn();
  nextFrame(then);
  vi.advanceTimersByTime(1000);
  draw();
  expect(then).toHaveBeenCalledTimes(1);
});

test("it can be taken back", () => {
  const then = vi.fn();
  nextFrame(then)();
  draw();
  vi.advanceTimersByTime(1000);
  expect(then).not.toHaveBeenCalled();
});
