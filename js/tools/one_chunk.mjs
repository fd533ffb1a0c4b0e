// All that the app needs at once in one chunk, and so with a later chunk that others go on from. Chunks that
// are fetched later import what is there by then: else each set of them that shares a module with it would
// split off a small chunk of its own, and small chunks compress badly.
import { readFile } from "node:fs/promises";
import { extname } from "node:path";

/**
 * An esbuild plugin.
 *
 * @param app The app's entry point, as an absolute path.
 * @param base A later chunk that the chunks of `onBase` import whole.
 * @param onBase These, all as absolute paths.
 */
export function oneChunk(app, base, onBase) {
  const later = new Set([base]); // it may be loaded for another before it is seen to be imported later
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
        const whole = onBase.includes(path) ? [app, base] : [app];
        return {
          contents: `${source}\n${whole.map((one) => `import ${JSON.stringify(one)};\n`).join("")}`,
          loader: extname(path).slice(1),
        };
      });
    },
  };
}
