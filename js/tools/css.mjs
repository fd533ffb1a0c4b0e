// Stylesheets are imported as their text, minified.
import { readFile } from "node:fs/promises";
import { transform } from "esbuild";

export function cssText(minify) {
  return {
    name: "css-text",
    setup({ onLoad }) {
      onLoad({ filter: /\.css$/ }, async ({ path }) => {
        const source = await readFile(path, "utf8");
        const { code } = await transform(source, { loader: "css", minify, target: "es2022" });
        return { contents: code, loader: "text" };
      });
    },
  };
}
