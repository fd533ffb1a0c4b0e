// Make the gallery: a page and one script, which can be opened as a file. node build.mjs FOLDER
import { mkdir, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { cssText } from "../../tools/css.mjs";

const [folder] = process.argv.slice(2);
if (!folder) throw new Error("say where to: node tests/gallery/build.mjs FOLDER");

const PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Gallery of the view</title>
<style>body { padding: 8px; } #gallery { max-width: 100%; }</style>
<body><main id="gallery"></main><script src="gallery.js"></script></body>
</html>
`;

await mkdir(folder, { recursive: true });
await build({
  absWorkingDir: fileURLToPath(new URL("../..", import.meta.url)),
  entryPoints: ["tests/gallery/gallery.ts"],
  outfile: `${folder}/gallery.js`,
  bundle: true,
  format: "iife",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  define: { VERSION: '"0"' },
  plugins: [cssText(false)],
  logLevel: "warning",
});
await writeFile(`${folder}/gallery.html`, PAGE);
