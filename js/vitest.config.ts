import { defineConfig } from "vitest/config";

// These replace modules, listen to their document for good, or have an import prepare each test:
// other files would meet that, or not have it.
const ALONE = [
  "tests/{approval,breakpoints,history,lab,shells}/**/*.test.{ts,tsx}",
  "tests/chat/{list,view}.test.tsx",
];

export default defineConfig({
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  define: { VERSION: '"0.0.0"' },
  test: {
    environment: "happy-dom",
    setupFiles: "tests/setup.ts",
    sequence: { hooks: "list" }, // what setup.ts does after a test comes first
    testTimeout: 60_000,
    maxWorkers: 2, // on two cores vitest would take one
    projects: [
      // A context of its own for each file, in one thread: a new one would load happy-dom again.
      { extends: true, test: { name: "alone", include: ALONE, pool: "vmThreads" } },
      {
        extends: true,
        // Documents and modules are shared: to make them for each file takes longer than the tests.
        test: {
          name: "shared",
          include: ["tests/**/*.test.{ts,tsx}"],
          exclude: ALONE,
          isolate: false,
        },
      },
    ],
  },
});
