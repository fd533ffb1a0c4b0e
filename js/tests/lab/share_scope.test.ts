import { expect, test } from "vitest";
import { type ShareScope, take } from "../../src/lab/jupyterlab";

const WIDGETS = "@lumino/widgets";

const offer = (what: string, loaded?: boolean) => ({
  get: async () => () => what,
  ...(loaded !== undefined && { loaded }),
});

const scope = (offers: ShareScope[string]): ShareScope => ({ [WIDGETS]: offers });

test("the newest version is taken, by number", async () => {
  const shared = scope({
    "2.9.0": offer("old"),
    "2.10.0": offer("new"),
    "2.10.0-rc.1": offer("rc"),
  });
  expect(await take(shared, WIDGETS)).toBe("new");
});

test("a version that the page has loaded goes before a newer one", async () => {
  const shared = scope({ "2.9.0": offer("loaded", true), "2.10.0": offer("new", false) });
  expect(await take(shared, WIDGETS)).toBe("loaded");
});

test("a package may be given at once", async () => {
  const shared = scope({ "2.9.0": { get: () => () => "here" } });
  expect(await take(shared, WIDGETS)).toBe("here");
});

test.each([{}, scope(undefined), scope({})])(
  "a page without the package is named",
  async (shared) => {
    await expect(take(shared, WIDGETS)).rejects.toThrow("this page has no @lumino/widgets");
  },
);
