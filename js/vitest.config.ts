import { defineConfig } from "vitest/config";

export default defineConfig({
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  define: { VERSION: '"0.0.0"' },
  test: { environment: "happy-dom", include: ["tests/**/*.test.{ts,tsx}"] },
});
