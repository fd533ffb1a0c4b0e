// All that the app needs at once in one chunk. Chunks that are fetched later import the app, which is
// there by then: else each set of them that shares a module with it would split off a small chunk of its
// own, and small chunks compress badly.
import { readFile } from "node:fs/promises";
import { extname } from "node:path";

/**
 * An esbuild plugin.
 *
 * @param app The app's entry point, as an absolute path.
 */
export function oneChunk(app) {
  const later = new Set();
  return {
    name: "one-chunk",
    setup({ onResolve, onLoad, resolve }) {
      onResolve({ filter: /^\./ }, async ({ path, pluginData, ...from }) => {
        if (from.kind !== "dynamic-import" || pluginData === later) return;
        const found = await resolve(path, { ...from, pluginData: later }); // not asked here again
        if (found.path !== app) later.add(found.path);
        return found;
      });
      onLoad({ filter: /\.tsx?$/ }, async ({ path }) => {
        if (!later.has(path)) return;
        const source = await readFile(path, "utf8");
        return {
          contents: `${source}\nimport ${JSON.stringify(app)};\n`,
          loader: extname(path).slice(1),
        };
      });
    },
  };
}
