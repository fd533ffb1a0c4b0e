import { afterEach, expect, test, vi } from "vitest";
import { browserStorage } from "../../src/model/storage";

afterEach(() => localStorage.clear());

test("changes are heard of, here and from other tabs, but for those of another storage", () => {
  const heard = vi.fn();
  const leave = browserStorage().watch(heard);
  browserStorage().set("a", "1");
  browserStorage().remove("a");
  browserStorage(() => sessionStorage).set("b", "1");
  const fromTab = (key: string, storageArea: Storage) =>
    window.dispatchEvent(new StorageEvent("storage", { key, storageArea }));
  fromTab("agentstepper:c", localStorage);
  fromTab("agentstepper:d", sessionStorage);
  fromTab("somebody:e", localStorage);
  expect(heard.mock.calls).toEqual([["a"], ["a"], ["c"]]);
  leave();
  browserStorage().set("a", "1");
  expect(heard).toHaveBeenCalledTimes(3);
});

test("what could not be written is not told", () => {
  const heard = vi.fn();
  const full = {
    setItem: () => {
      throw new DOMException("full");
    },
  } as unknown as Storage;
  const memory = browserStorage(() => full);
  memory.watch(heard);
  memory.set("a", "1");
  expect(heard).not.toHaveBeenCalled();
});
