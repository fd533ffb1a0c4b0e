/** Files share documents and modules: what a test leaves is cleared away before the next file's. */
import { afterEach, beforeAll, vi } from "vitest";

// A chunk that is fetched while other tests run takes longer than Vitest's second on a busy machine.
const { waitFor } = vi;
vi.waitFor = (callback, options) => waitFor(callback, options ?? { timeout: 10_000 });

beforeAll(() => {
  for (const element of [document.documentElement, document.body]) {
    for (const { name } of [...element.attributes]) element.removeAttribute(name);
  }
  document.body.replaceChildren();
  localStorage.clear();
  sessionStorage.clear();
});

afterEach(() => {
  // What a test's clock held back is called: Preact would wait for it forever with its effects.
  if (vi.isFakeTimers()) vi.runOnlyPendingTimers();
  vi.useRealTimers();
  vi.restoreAllMocks();
});
